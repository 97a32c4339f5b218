# cmake -D FOLDER=... -P certificates.cmake: certificates of support/certificates.sh in a folder that is made anew.
file(REMOVE_RECURSE ${FOLDER})
execute_process(COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/certificates.sh ${FOLDER} COMMAND_ERROR_IS_FATAL ANY)
