"""The grammar objects of the engine process: compilation, bitmasks, masks ahead."""
