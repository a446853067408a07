# Tests of src/dwarf.
