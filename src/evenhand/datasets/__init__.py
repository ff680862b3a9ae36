"""Real data, one loader a file: source, licence, checksum, known harms."""
