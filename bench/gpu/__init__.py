"""What can only be measured with an accelerator: `python -m bench.gpu`."""
