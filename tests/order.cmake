# When tests run: the long ones first, so that none is left over at the end. Seconds on a machine of two processors; those
# that are not named take a few.
foreach(cost IN ITEMS
    page:90 collector_cluster:80 collector_faults:80 dwarf_programs:60 collector_http:40 blobs_faults_s3:40 apple_targets:40
    upload_server:25 collector_backup:25 collector_forget:25 collector_forget_postgres:25 collector_uploads:25
    collector_kill_http:25 spool_faults:25 run_loops:20 object_macho_real:15 exactness_macho:15 collector_faults_converter:15
    db_postgres:15 jobs_postgres:15 groups_postgres:15 db_faults_postgres:15 symbolicate_command:15 convert:10 threads_callers:10
    upload:10 async:10 threads_locks:10)
  string(REPLACE ":" ";" cost ${cost})
  list(GET cost 0 name)
  list(GET cost 1 seconds)
  if(TEST ${name})
    set_tests_properties(${name} PROPERTIES COST ${seconds})
  endif()
endforeach()

# The monitor's own, on the real clock: what does not get its processor for long is no hang. ./run test has room for twice as
# many tests as there are processors; with one of these there is at most one other on a machine of two.
foreach(name IN ITEMS run_loops run_gtk run_node run_python run_nginx hang_real hang_glib hang_uv collector_loop)
  if(TEST ${name})
    set_tests_properties(${name} PROPERTIES PROCESSORS 3)
  endif()
endforeach()

# What the preset tsan builds: the programs of the tests that it runs, which are those of the label.
add_custom_target(concurrency)
get_property(names DIRECTORY PROPERTY TESTS)
foreach(name IN LISTS names)
  get_property(labels TEST ${name} PROPERTY LABELS)
  if("concurrency" IN_LIST labels AND TARGET test_${name})
    add_dependencies(concurrency test_${name})
  endif()
endforeach()
foreach(name IN ITEMS framewalk framewalk_collector_program http_driver upload_driver) # of tests in Python
  if(TARGET ${name})
    add_dependencies(concurrency ${name})
  endif()
endforeach()
