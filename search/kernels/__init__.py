"""The compiled search: everything in here runs as machine code, or describes the records that it works on."""
