"""What is measured: each section yields tables."""
