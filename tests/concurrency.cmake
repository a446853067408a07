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
