# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(flags)
if(sanitize)
  set(flags -fsanitize=${sanitize})
endif()

# use(<name> <prefix> <flags> <argument>...): the project, built against the installation, and run.
function(use name prefix flags)
  run(${CMAKE_COMMAND} -G Ninja -S ${project} -B ${work}/${name}
    -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_CXX_COMPILER_LAUNCHER=${launcher}
    "-DCMAKE_CXX_FLAGS=${flags}" ${ARGN})
  run(${CMAKE_COMMAND} --build ${work}/${name})
  run(${work}/${name}/distribute)
  if(runtime)
    run(${work}/${name}/load)
    run(${work}/${name}/call)
  endif()
endfunction()

file(REMOVE_RECURSE ${work})
run(${CMAKE_COMMAND} --install ${build} --prefix ${work}/prefix)
# Whoever takes away what it lists has all of it.
file(STRINGS ${build}/install_manifest.txt listed ENCODING UTF-8)
file(GLOB_RECURSE there ${work}/prefix/*)
list(REMOVE_DUPLICATES listed)
list(SORT listed)
list(SORT there)
if(NOT listed STREQUAL there)
  list(REMOVE_ITEM there ${listed})
  message(FATAL_ERROR "install_manifest.txt does not list all that was installed, but for: ${there}")
endif()
use(release ${work}/prefix "${flags}" -D CMAKE_BUILD_TYPE=Release)
run(${work}/prefix/bin/cs-opt --version)
if(runtime)
  # Nothing says where the tools are.
  run(${CMAKE_COMMAND} -E env --unset=COMMSCHED_BIN PATH=/usr/bin:/bin PYTHONPATH=${work}/prefix/lib/commsched/python
    ${python} -c "from commsched import native, tools\nnative.library()\nassert tools.find('cs-run') == '${work}/prefix/bin/cs-run'")
endif()

# As a packager has it: installed below another root, then put where it belongs, which is a folder with a space here. Code as
# LLVM's, without optimisation, and of a project that asks for an older standard.
run(${CMAKE_COMMAND} -E env DESTDIR=${work}/stage ${CMAKE_COMMAND} --install ${build} --prefix /opt/commsched)
file(RENAME ${work}/stage/opt/commsched "${work}/moved here")
file(REMOVE_RECURSE ${work}/prefix)
use("debug too" "${work}/moved here" "-fno-exceptions -fno-rtti ${flags}" -D CMAKE_BUILD_TYPE=Debug -D CMAKE_CXX_STANDARD=17)
run("${work}/moved here/bin/cs-opt" --version)
