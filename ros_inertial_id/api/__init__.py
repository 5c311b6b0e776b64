"""The public API, one page each: identify and validate, the identified model, its parameters."""
