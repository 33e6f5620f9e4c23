"""The programs that can play a match: our own, cutechess-cli and fastchess."""
