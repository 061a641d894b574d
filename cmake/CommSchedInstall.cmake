# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Installs tools, libraries, headers and the CMake package that
# find_package(CommSched) finds. Headers keep their paths, below
# include/commsched: #include "ir/Cs.h" reads the same inside and outside.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/CommSched)
set(header_dir ${CMAKE_INSTALL_INCLUDEDIR}/commsched)

# commsched_install_libraries(<export set> <folder>...): the libraries made in
# the folders, and their headers. CommSchedIR is CommSched::IR to users,
# commsched_runtime is CommSched::Runtime.
function(commsched_install_libraries export)
  foreach(folder IN LISTS ARGN)
    commsched_targets_below(${CMAKE_SOURCE_DIR}/${folder} "STATIC_LIBRARY|SHARED_LIBRARY|INTERFACE_LIBRARY" targets)
    foreach(target IN LISTS targets)
      string(REGEX REPLACE "^(CommSched|commsched_)" "" name ${target})
      string(SUBSTRING ${name} 0 1 first)
      string(TOUPPER ${first} first)
      string(SUBSTRING ${name} 1 -1 rest)
      set_target_properties(${target} PROPERTIES EXPORT_NAME ${first}${rest})
      target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${header_dir}>)
      install(TARGETS ${target} EXPORT ${export}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    endforeach()
    install(DIRECTORY ${CMAKE_SOURCE_DIR}/${folder} DESTINATION ${header_dir}
      FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.proto")
    install(DIRECTORY ${CMAKE_BINARY_DIR}/${folder} DESTINATION ${header_dir}
      FILES_MATCHING PATTERN "*.h" PATTERN "*.h.inc" PATTERN CMakeFiles EXCLUDE)
  endforeach()
  install(EXPORT ${export} NAMESPACE CommSched:: DESTINATION ${package_dir})
endfunction()

commsched_install_libraries(CommSchedPlanTargets plan)
if(COMMSCHED_BUILD_COMPILER)
  set_target_properties(commsched_mlir PROPERTIES EXPORT_NAME MLIR)
  install(TARGETS commsched_mlir EXPORT CommSchedCompilerTargets)
  commsched_install_libraries(CommSchedCompilerTargets ir reference passes)
endif()
if(COMMSCHED_BUILD_RUNTIME)
  commsched_install_libraries(CommSchedRuntimeTargets ops runtime grpc launch)
endif()

commsched_targets_below(${CMAKE_SOURCE_DIR}/tools "EXECUTABLE|MODULE_LIBRARY" targets)
install(TARGETS ${targets} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/python_api/commsched
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/commsched/python FILES_MATCHING PATTERN "*.py")
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/CommSchedConfig.cmake.in
  ${CMAKE_BINARY_DIR}/CommSchedConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/CommSchedConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/CommSchedConfig.cmake ${CMAKE_BINARY_DIR}/CommSchedConfigVersion.cmake
  DESTINATION ${package_dir})
