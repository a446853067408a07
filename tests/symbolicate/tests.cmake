# Tests of src/symbolicate.
