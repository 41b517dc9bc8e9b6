"""The grammar objects of the engine process: admission, compilation, bitmasks."""
