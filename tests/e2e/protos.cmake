coracle_generate(TARGET e2e_tests PROTOS echo.proto IMPORT_DIRS ${CMAKE_CURRENT_LIST_DIR})
