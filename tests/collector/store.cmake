# Tests of the databases and blob stores (db.h, blobs.h).

# The same tests on SQLite and, where it is installed, on a PostgreSQL server that they start.
foreach(name IN ITEMS db db_faults db_threads db_schema)
  fw_collector_test(${name} collector/${name}_test.c collector/db_support.c)
  add_test(NAME ${name}_postgres COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
    python3 ${CMAKE_CURRENT_SOURCE_DIR}/collector/postgres.py $<TARGET_FILE:test_${name}>)
  set_tests_properties(${name}_postgres PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endforeach()

# The same on files and on the stand-in for S3 that the test brings; on another implementation where
# one is installed.
foreach(name IN ITEMS blobs blobs_faults)
  fw_collector_test(${name} collector/${name}_test.c collector/blobs_support.c)
  add_test(NAME ${name}_s3 COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
    python3 ${CMAKE_CURRENT_SOURCE_DIR}/collector/s3.py $<TARGET_FILE:test_${name}>)
  add_test(NAME ${name}_versitygw COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
    python3 ${CMAKE_CURRENT_SOURCE_DIR}/collector/s3.py --real $<TARGET_FILE:test_${name}>)
  set_tests_properties(${name}_s3 ${name}_versitygw PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endforeach()
