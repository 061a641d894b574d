# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Makes Page.cpp: the template with its style and scripts in it, as one constant.
#   cmake -D TEMPLATE= -D STYLE= -D LICENCE= -D LIBRARIES= -D SCRIPTS= -D OUTPUT= -P embed.cmake
cmake_minimum_required(VERSION 3.24)
file(READ ${TEMPLATE} page)
file(READ ${STYLE} style)
file(READ ${LICENCE} licence)
set(library "/*\n${licence}*/\n")
foreach(file IN LISTS LIBRARIES)
  file(READ ${file} text)
  # Maps of the minified files are not there.
  string(REGEX REPLACE "//# sourceMappingURL[^\n]*" "" text "${text}")
  string(APPEND library "${text}\n")
endforeach()
set(script "")
foreach(file IN LISTS SCRIPTS)
  file(READ ${file} text)
  string(REGEX REPLACE "^(//[^\n]*\n)+" "" text "${text}")
  string(APPEND script "${text}\n")
endforeach()
string(REGEX REPLACE "^/\\*[^*]*\\*/\n" "" style "${style}")
string(REGEX REPLACE "^<!--[^>]*-->\n" "" page "${page}")
# In an order in which no part is looked at for marks of the next.
string(FIND "${page}" "@STYLE@" at)
string(SUBSTRING "${page}" 0 ${at} before)
math(EXPR at "${at} + 7")
string(SUBSTRING "${page}" ${at} -1 page)
string(FIND "${page}" "@D3@" at)
string(SUBSTRING "${page}" 0 ${at} head)
math(EXPR at "${at} + 4")
string(SUBSTRING "${page}" ${at} -1 page)
string(FIND "${page}" "@SCRIPT@" at)
string(SUBSTRING "${page}" 0 ${at} middle)
math(EXPR at "${at} + 8")
string(SUBSTRING "${page}" ${at} -1 tail)
set(page "${before}${style}${head}${library}${middle}${script}${tail}")
# Compilers limit the length of one literal.
set(literals "")
string(LENGTH "${page}" length)
set(at 0)
while(at LESS length)
  string(SUBSTRING "${page}" ${at} 12000 piece)
  string(APPEND literals "R\"CSPAGE(${piece})CSPAGE\"\n")
  math(EXPR at "${at} + 12000")
endwhile()
file(WRITE ${OUTPUT} "// Made by report/embed.cmake.
#include \"report/Page.h\"

namespace commsched::report {
static const char text[] =
${literals};
const std::string_view kPage(text, sizeof(text) - 1);
} // namespace commsched::report
")
