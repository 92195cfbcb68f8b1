"""The one intermediate representation: interned nodes in index notation."""
