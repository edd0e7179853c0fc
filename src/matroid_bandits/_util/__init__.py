"""What every layer needs and none owns: checks, read-only arrays, files, threads, words."""
