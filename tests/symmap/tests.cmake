# Tests of src/symmap.
