# Writes coracle.spdx.json (SPDX 2.3): the library, and the libraries that this build links, with their versions.

function(coracle_sbom_package result name version license)
  string(MAKE_C_IDENTIFIER ${name} id)
  string(REPLACE "_" "-" id ${id})
  set(${result} "    {
      \"name\": \"${name}\",
      \"SPDXID\": \"SPDXRef-${id}\",
      \"versionInfo\": \"${version}\",
      \"downloadLocation\": \"NOASSERTION\",
      \"filesAnalyzed\": false,
      \"licenseConcluded\": \"${license}\",
      \"licenseDeclared\": \"${license}\",
      \"copyrightText\": \"NOASSERTION\"
    }" PARENT_SCOPE)
  set(${result}_id "SPDXRef-${id}" PARENT_SCOPE)
endfunction()

set(sbom_relations
  "    {\"spdxElementId\": \"SPDXRef-DOCUMENT\", \"relationshipType\": \"DESCRIBES\", \"relatedSpdxElement\": \"SPDXRef-coracle\"}")
set(sbom_version ${PROJECT_VERSION}${coracle_version_suffix})
coracle_sbom_package(sbom_packages coracle ${sbom_version} Apache-2.0)
set(sbom_libraries)
foreach(library IN LISTS coracle_linked)
  foreach(module IN LISTS coracle_modules_of_${library})
    string(REGEX REPLACE "[<>=].*" "" module "${module}")
    list(APPEND sbom_libraries ${module})
  endforeach()
endforeach()
list(APPEND sbom_libraries protobuf)
if(TARGET coracle_secure)
  list(APPEND sbom_libraries openssl)
endif()
if(CORACLE_BUILD_XDS)
  list(APPEND sbom_libraries re2)
endif()
foreach(library IN LISTS sbom_libraries)
  execute_process(COMMAND ${PKG_CONFIG_EXECUTABLE} --modversion ${library}
    OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE unknown)
  if(unknown)
    set(version NOASSERTION)
  endif()
  coracle_sbom_package(one ${library} "${version}" NOASSERTION)
  string(APPEND sbom_packages ",\n${one}")
  string(APPEND sbom_relations
    ",\n    {\"spdxElementId\": \"SPDXRef-coracle\", \"relationshipType\": \"DEPENDS_ON\", \"relatedSpdxElement\": \"${one_id}\"}")
endforeach()

# The same libraries make the same file: the time is that of SOURCE_DATE_EPOCH where it is set, and the namespace is made from
# the content.
string(TIMESTAMP sbom_created "%Y-%m-%dT%H:%M:%SZ" UTC)
string(SHA256 sbom_digest "${sbom_packages}")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/coracle.spdx.json @ONLY CONTENT [[{
  "spdxVersion": "SPDX-2.3",
  "dataLicense": "CC0-1.0",
  "SPDXID": "SPDXRef-DOCUMENT",
  "name": "coracle-@sbom_version@",
  "documentNamespace": "https://spdx.org/spdxdocs/coracle-@sbom_version@-@sbom_digest@",
  "creationInfo": {"created": "@sbom_created@", "creators": ["Tool: coracle_sbom.cmake"]},
  "packages": [
@sbom_packages@
  ],
  "relationships": [
@sbom_relations@
  ]
}
]])
install(FILES ${PROJECT_BINARY_DIR}/coracle.spdx.json DESTINATION ${CMAKE_INSTALL_DATADIR}/coracle COMPONENT coracle_dev)
