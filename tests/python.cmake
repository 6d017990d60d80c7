# The Python package's tests, on the shared library and the tool of this build.
set(PARSNETS_PYTHON /usr/bin/python3 CACHE FILEPATH "Python that has what the package's tests need")
set(python_modules numpy scipy sklearn pandas tqdm pytest mypy venv ensurepip pip setuptools wheel)
execute_process(
  COMMAND ${PARSNETS_PYTHON} -c
          "import importlib.util as u, sys; print(*[m for m in sys.argv[1:] if not u.find_spec(m)])" ${python_modules}
  RESULT_VARIABLE python_failed OUTPUT_VARIABLE python_lacks OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT python_failed EQUAL 0 OR python_lacks)
  message(WARNING "The Python package's tests are left out: ${PARSNETS_PYTHON} does not run, or lacks: ${python_lacks}\n"
                  "`scripts/setup.sh test` installs what they need.")
  return()
endif()

function(parsnets_python_test name)
  add_test(NAME Python.${name} COMMAND ${PARSNETS_PYTHON} -m ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/python)
  set_tests_properties(Python.${name} PROPERTIES ENVIRONMENT
    "PARSNETS_LIBRARY=$<TARGET_FILE:parsnets_shared>;PARSNETS_CLI=${CMAKE_BINARY_DIR}/parsnets;PARSNETS_BUILD=${CMAKE_BINARY_DIR}")
endfunction()
set(run_pytest pytest -q -rs -p no:cacheprovider)
set(tests_of_their_own test_sklearn.py test_install.py test_examples.py test_dask.py)

list(TRANSFORM tests_of_their_own PREPEND --ignore=tests/ OUTPUT_VARIABLE left_out)
parsnets_python_test(Tests ${run_pytest} ${left_out} tests)
parsnets_python_test(ScikitLearnChecks ${run_pytest} -s tests/test_sklearn.py)
parsnets_python_test(Installs ${run_pytest} tests/test_install.py)
parsnets_python_test(Doctests ${run_pytest} --doctest-modules parsnets)
parsnets_python_test(Types mypy --strict --cache-dir=${CMAKE_BINARY_DIR}/mypy_cache parsnets)
parsnets_python_test(Examples ${run_pytest} tests/test_examples.py)

# On clusters of worker processes. Without dask pytest collects nothing, and ctest says that the test was skipped.
parsnets_python_test(Dask ${run_pytest} tests/test_dask.py)
set_tests_properties(Python.Dask PROPERTIES SKIP_RETURN_CODE 5)
execute_process(COMMAND ${PARSNETS_PYTHON} -c "import dask.array, dask.dataframe, distributed" RESULT_VARIABLE dask_failed
                OUTPUT_QUIET ERROR_QUIET)
if(NOT dask_failed EQUAL 0)
  message(WARNING "Python.Dask will be skipped: ${PARSNETS_PYTHON} lacks dask or distributed.\n"
                  "`scripts/setup.sh test` installs python3-dask and python3-distributed.")
endif()
