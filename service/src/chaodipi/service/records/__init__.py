"""Records of tables: written once, checked by anyone, read by people."""
