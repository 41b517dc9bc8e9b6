"""The tests, and what they have in common: `from tests.vocabularies import small`."""
