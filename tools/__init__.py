"""Commands for whoever changes cpunmt: what continuous integration runs beside the tests."""
