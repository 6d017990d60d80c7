# Writes a CTest file with one test for each suite of a test program that the filter lets through.
#   cmake -DPROGRAM=<file> -DFILTER=<gtest filter> -DSECONDS=<limit> -DOUT=<file> -P suites.cmake
execute_process(COMMAND ${PROGRAM} --gtest_list_tests --gtest_filter=${FILTER} OUTPUT_VARIABLE listed
                COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "(^|\n)[A-Za-z0-9_/]+\\." suites "${listed}")
set(text "")
foreach(suite IN LISTS suites)
  string(REGEX REPLACE "^\n?(.*)\\.$" "\\1" suite "${suite}")
  string(APPEND text "add_test(${suite} \"${CMAKE_CURRENT_LIST_DIR}/run_suite.sh\" \"${PROGRAM}\" ${suite})\n"
                     "set_tests_properties(${suite} PROPERTIES TIMEOUT ${SECONDS} SKIP_RETURN_CODE 77)\n")
endforeach()
file(WRITE ${OUT} "${text}")
