# Tests of the databases and blob stores (db.h, blobs.h).

# The same tests on SQLite and, where it is installed, on a PostgreSQL server that they start.
foreach(name IN ITEMS db db_faults db_threads db_schema)
  fw_collector_test(${name} collector/${name}_test.c collector/db_support.c)
  fw_collector_script(${name}_postgres postgres.py $<TARGET_FILE:test_${name}>)
endforeach()

# The same on files and on the stand-in for S3 that the test brings; on another implementation where
# one is installed.
fw_collector_test(s3_tidy collector/s3_tidy_test.c)
fw_collector_script(s3_tidy_s3 s3.py $<TARGET_FILE:test_s3_tidy>)
fw_collector_script(s3_tidy_versitygw s3.py --real $<TARGET_FILE:test_s3_tidy>)
foreach(name IN ITEMS blobs blobs_faults)
  fw_collector_test(${name} collector/${name}_test.c collector/blobs_support.c)
  fw_collector_script(${name}_s3 s3.py $<TARGET_FILE:test_${name}>)
  fw_collector_script(${name}_versitygw s3.py --real $<TARGET_FILE:test_${name}>)
endforeach()
