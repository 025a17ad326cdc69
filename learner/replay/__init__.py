"""The replay: records in, samples out, each position used a bounded number of times.  See README.md for the files."""
