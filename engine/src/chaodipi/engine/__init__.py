"""The rules of 炒地皮 (chao di pi): values in, values out; no clock, no randomness, no input or output."""
