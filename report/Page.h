// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_REPORT_PAGE_H
#define COMMSCHED_REPORT_PAGE_H

#include <string>
#include <string_view>

namespace commsched::report {

/// page/page.html with its styles and scripts in it, made by the build.
extern const std::string_view kPage;

struct Document;
/// "periods" and "what_ifs", members of a JSON object.
std::string comparisonJson(const Document &document);

} // namespace commsched::report

#endif // COMMSCHED_REPORT_PAGE_H
