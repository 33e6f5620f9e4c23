"""The network: its file format, its layout in memory, and its evaluation from Python."""
