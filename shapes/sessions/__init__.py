"""Sessions as files: record, replay, save and load, in one format."""
