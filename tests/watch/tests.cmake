# Tests of src/watch: hang monitor, call watch, spool.
