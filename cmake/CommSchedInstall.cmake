# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Installs tools, libraries, headers and the CMake package that
# find_package(CommSched) finds. Headers keep their paths, below
# include/commsched: #include "ir/Cs.h" reads the same inside and outside. A wheel
# (SKBUILD) has this below its package, but not the runtime's own libraries: those of the
# C interface and the tools have it in them. commsched_wheel builds what it installs.
add_custom_target(commsched_wheel)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/CommSched)
set(header_dir ${CMAKE_INSTALL_INCLUDEDIR}/commsched)

# commsched_install_libraries(<export set> <folder>...): the libraries made in
# the folders, and their headers; not that of the C interface. CommSchedIR is
# CommSched::IR to users, commsched_runtime is CommSched::Runtime.
function(commsched_install_libraries export)
  foreach(folder IN LISTS ARGN)
    commsched_targets_below(${CMAKE_SOURCE_DIR}/${folder} "STATIC_LIBRARY|INTERFACE_LIBRARY" targets)
    foreach(target IN LISTS targets)
      add_dependencies(commsched_wheel ${target})
      string(REGEX REPLACE "^(CommSched|commsched_)" "" name ${target})
      string(SUBSTRING ${name} 0 1 first)
      string(TOUPPER ${first} first)
      string(SUBSTRING ${name} 1 -1 rest)
      set_target_properties(${target} PROPERTIES EXPORT_NAME ${first}${rest})
      # A project of an older standard would find out in the middle of a header.
      target_compile_features(${target} INTERFACE cxx_std_20)
      target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${header_dir}>)
      install(TARGETS ${target} EXPORT ${export}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    endforeach()
    install(DIRECTORY ${CMAKE_SOURCE_DIR}/${folder} DESTINATION ${header_dir}
      FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.proto")
    install(DIRECTORY ${CMAKE_BINARY_DIR}/${folder} DESTINATION ${header_dir}
      FILES_MATCHING PATTERN "*.h" PATTERN "*.h.inc" PATTERN CMakeFiles EXCLUDE PATTERN unity EXCLUDE)
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
  if(NOT SKBUILD)
    commsched_install_libraries(CommSchedRuntimeTargets ops runtime grpc launch)
  endif()
  set_target_properties(commsched_c PROPERTIES EXPORT_NAME C)
  target_include_directories(commsched_c INTERFACE $<INSTALL_INTERFACE:${header_dir}>)
  install(TARGETS commsched_c EXPORT CommSchedCTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  if(TARGET commsched_c_mpi)
    install(TARGETS commsched_c_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    add_dependencies(commsched_wheel commsched_c_mpi)
  endif()
  install(EXPORT CommSchedCTargets NAMESPACE CommSched:: DESTINATION ${package_dir})
  install(FILES ${CMAKE_SOURCE_DIR}/runtime/c_api/c_api.h DESTINATION ${header_dir}/runtime/c_api)
  add_dependencies(commsched_wheel commsched_c)
endif()

commsched_targets_below(${CMAKE_SOURCE_DIR}/tools "EXECUTABLE|MODULE_LIBRARY|SHARED_LIBRARY" targets)
install(TARGETS ${targets} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
add_dependencies(commsched_wheel ${targets})
if(SKBUILD)
  # Of what a wheel has copies of.
  foreach(package libllvm22 libmlir-22 liblld-22 libzstd1 zlib1g libgrpc29 libgrpc++1.51 libprotobuf32 libabsl20220623
          libc-ares2 libre2-9 libssl3 libdnnl2 libhwy1 libgomp1 ocl-icd-libopencl1)
    install(FILES /usr/share/doc/${package}/copyright DESTINATION licences RENAME ${package}.txt OPTIONAL)
  endforeach()
else()
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/python_api/commsched
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/commsched/python FILES_MATCHING PATTERN "*.py" PATTERN py.typed)
  install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()

set(has_runtime ${COMMSCHED_BUILD_RUNTIME})
if(SKBUILD)
  set(has_runtime OFF)
endif()

configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/CommSchedConfig.cmake.in
  ${CMAKE_BINARY_DIR}/CommSchedConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/CommSchedConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/CommSchedConfig.cmake ${CMAKE_BINARY_DIR}/CommSchedConfigVersion.cmake
  DESTINATION ${package_dir})
