"""One file per version of the tables. A step never imports the tables as they are now."""
