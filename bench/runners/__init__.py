"""The runners that can play a match: the built-in one, cutechess-cli and fastchess."""
