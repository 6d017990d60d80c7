#include "serve/multipart.hpp"

#include <gtest/gtest.h>

#include <random>

#include "serve/http.hpp"
#include "serve/request_checks.hpp"

namespace {

using namespace parsnets;
using namespace std::string_literals;

const std::string kType = "multipart/form-data; boundary=b";

/// name|type=content; of every part, or the error.
std::string parsed(const std::string& body, const std::string& type = kType, std::size_t* looked_at = nullptr) {
  try {
    std::string text;
    for (const Part& part : parse_multipart(type, body, looked_at))
      text += part.name + "|" + part.type + "=" + std::string(part.content) + ";";
    return text;
  } catch (const HttpError& e) {
    EXPECT_EQ(e.status(), 400);
    return "error: " + std::string(e.what());
  }
}

bool is_error(const std::string& text) { return text.starts_with("error: "); }

std::string part(const std::string& name, const std::string& content, const std::string& boundary = "b") {
  return "--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + content + "\r\n";
}

/// The slow and obvious way, for bodies with the boundary `b` and part heads of one line, `N:` and the name: the body
/// is cut into lines at CRLF, and joined again.
std::string reference(const std::string& body) {
  std::vector<std::string> lines{""};
  for (std::size_t i = 0; i < body.size(); ++i)
    if (body.compare(i, 2, "\r\n") == 0) {
      lines.emplace_back();
      ++i;
    } else {
      lines.back() += body[i];
    }
  std::size_t at = 0;
  while (at < lines.size() && !lines[at].starts_with("--b")) ++at;
  std::string text;
  for (;;) {
    if (at == lines.size()) return "error";
    const std::string mark = lines[at++];
    if (mark.starts_with("--b--")) return text;
    if (at == lines.size() || mark.find_first_not_of(" \t", 3) != std::string::npos) return "error";
    std::string name;
    for (; at < lines.size() && !lines[at].empty(); ++at) {
      std::string line = lines[at];
      while (line.ends_with(' ')) line.pop_back();
      if (!line.starts_with("N:") || line.rfind("N:") > 0 || line.find_first_of("\r\n ") != std::string::npos ||
          !name.empty())
        return "error";
      name = line.substr(2);
    }
    if (name.empty() || at == lines.size()) return "error";
    ++at;
    std::string content;
    bool begun = false;
    for (; at < lines.size() && !lines[at].starts_with("--b"); ++at) {
      content += (begun ? "\r\n" : "") + lines[at];
      begun = true;
    }
    text += name + "|=" + content + ";";
  }
}

}  // namespace

TEST(Multipart, PartsHaveTheirNamesTypesAndBytes) {
  EXPECT_EQ(parsed("--b\r\nContent-Disposition: form-data; filename=\"../x;name=y\"; NAME=\"im \\\"age\"\r\n"
                   "CONTENT-TYPE: Image/PNG; q=1\r\nX-Other: 1\r\n\r\n1\r\n2\r\n" +
                   part("request", "{}") + "--b--\r\n"),
            "im \"age|image/png=1\r\n2;request|={};");
  EXPECT_EQ(parsed("--b--"), "");
  EXPECT_EQ(parsed(part("a", "") + "--b--"), "a|=;");
  EXPECT_EQ(parsed("--b\r\nContent-Disposition: form-data; name=a\r\n\r\n--b--"), "a|=;");
  EXPECT_EQ(parsed("--b \t\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--b--"), "a|=x;") << "padding";
}

TEST(Multipart, WhatIsBeforeTheFirstAndAfterTheLastBoundaryIsIgnored) {
  EXPECT_EQ(parsed("preamble --b\r\n-- b\r\n" + part("a", "x") + "--b--\r\n" + part("c", "y")), "a|=x;");
  EXPECT_EQ(parsed("preamble" + part("a", "x") + "--b--"), "") << "not at the beginning of a line";
}

TEST(Multipart, ContentsMayLookLikeBoundaries) {
  for (const char* content : {"\r\n--", "\r\n-b", "\r\r\n", "\n--b\n", "\r--b", "\r\n--\r\n-", "\r\n --b"})
    EXPECT_EQ(parsed(part("a", content) + "--b--"), "a|=" + std::string(content) + ";");
  for (const char* wrong : {"\r\n--bc", "\r\n--b", "\r\n--b-", "\r\n--b x", "\r\n--b-- "})
    EXPECT_NE(parsed(part("a", wrong) + "--b--"), "a|=" + std::string(wrong) + ";") << wrong;
}

TEST(Multipart, NestedPartsAreContent) {
  const std::string inner = part("deep", "x", "inner") + "--inner--";
  EXPECT_EQ(
      parsed("--b\r\nContent-Disposition: form-data; name=a\r\nContent-Type: multipart/mixed; boundary=inner\r\n\r\n" +
             inner + "\r\n--b--"),
      "a|multipart/mixed=" + inner + ";");
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += part("a", "x", "c" + std::to_string(i));
  EXPECT_EQ(parsed(part("a", deep) + "--b--"), "a|=" + deep + ";");
}

TEST(Multipart, BoundariesAreThoseOfTheStandard) {
  const std::string special = "'()+_,-./:=? x";
  EXPECT_EQ(
      parsed(part("a", "x", special) + "--" + special + "--", "multipart/form-data; boundary=\"" + special + "\""),
      "a|=x;");
  for (const std::size_t length : {1u, 70u}) {
    const std::string boundary(length, '-');
    EXPECT_EQ(parsed(part("a", "x", boundary) + "--" + boundary + "--", "Multipart/Form-Data;Boundary=" + boundary),
              "a|=x;");
  }
  for (const std::string& wrong : {std::string(71, 'x'), "\"x \""s, "\"\""s, ""s, "\"x"s, "x; boundary=x"s, "x y"s,
                                   "a*b"s, "\"a\x80\""s, "\"a\\\"b\""s, std::string(7900, 'x')}) {
    EXPECT_TRUE(is_error(parsed(part("a", "x", "x") + "--x--", "multipart/form-data; boundary=" + wrong))) << wrong;
  }
  for (const char* wrong :
       {"", "multipart/form-data", "multipart/form-data; bound=b", "multipart/form-data, boundary=b"})
    EXPECT_TRUE(is_error(parsed(part("a", "x") + "--b--", wrong))) << wrong;
}

TEST(Multipart, PartsWithoutAClearHeadAreErrors) {
  for (const char* head :
       {"", "Content-Type: a/b\r\n", "Content-Disposition: form-data\r\n", "Content-Disposition: form-data; name=\r\n",
        "Content-Disposition: form-data; name=\"\"\r\n", "Content-Disposition: attachment; name=a\r\n",
        "Content-Disposition: form-data; name=a; name=a\r\n", "Content-Disposition: form-data; name=\"a\r\n",
        "Content-Disposition: form-data; name=\"a\"b\r\n", "Content-Disposition: form-data; x; name=a\r\n",
        "Content-Disposition: form-data; name=a\r\nContent-Disposition: form-data; name=a\r\n",
        "Content-Disposition: form-data;\r\n name=a\r\n", "Content-Disposition : form-data; name=a\r\n",
        "Content-Disposition: form-data; name=a\n\r\n", "Content-Disposition: form-data; name=a\r\r\n", "x\r\n"})
    EXPECT_TRUE(is_error(parsed("--b\r\n" + std::string(head) + "\r\nx\r\n--b--"))) << head;
  const std::string whole = part("a", "x") + part("c", "y") + "--b--";
  EXPECT_EQ(parsed(whole), "a|=x;c|=y;");
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_TRUE(is_error(parsed(whole.substr(0, length)))) << length;
}

TEST(Multipart, PartsAndTheirHeadsHaveLimits) {
  std::string body;
  for (std::size_t i = 0; i < kMostParts; ++i) body += part("a", "x");
  EXPECT_FALSE(is_error(parsed(body + "--b--")));
  EXPECT_TRUE(is_error(parsed(body + part("a", "x") + "--b--")));
  const auto with_head_of = [](std::size_t bytes) {
    const std::string start = "Content-Disposition: form-data; name=a\r\nA: ";
    return "--b\r\n" + start + std::string(bytes - start.size() - 4, 'x') + "\r\n\r\ny\r\n--b--";
  };
  EXPECT_EQ(parsed(with_head_of(kMostPartHeadBytes)), "a|=y;");
  EXPECT_TRUE(is_error(parsed(with_head_of(kMostPartHeadBytes + 1))));
}

TEST(Multipart, AgreesWithTheSlowWayOnEveryMixOfItsPieces) {
  const std::vector<std::string> pieces{"\r\n", "--b", "--", "\r", "\n",
                                        "N:x",  "b",   " ",  "-",  "\r\n--b\r\nN:y\r\n\r\n"};
  const auto disposed = [](std::string text) {  // as the parser wants it; contents may hold N:, too
    for (std::size_t at = 0; (at = text.find("N:", at)) != std::string::npos;)
      text.replace(at, 2, "Content-Disposition: form-data; name=");
    return text;
  };
  std::mt19937 random(1);
  std::size_t good = 0;
  for (int i = 0; i < 200000; ++i) {
    std::string body = "--b\r\nN:x\r\n\r\n";
    for (std::size_t k = random() % 8; k > 0; --k) body += pieces[random() % pieces.size()];
    if (random() % 4 != 0) body += "\r\n--b--";
    const std::string expected = reference(body), found = parsed(disposed(body));
    good += expected != "error" ? 1 : 0;
    ASSERT_EQ(is_error(found) ? "error" : found, disposed(expected)) << testing::PrintToString(body);
  }
  EXPECT_GT(good, 10000u);
}

TEST(Multipart, HostileBodiesAreLookedAtAFewTimesPerByte) {
  constexpr std::size_t kBytes = 1 << 20;
  const auto repeated = [](const std::string& text) {
    std::string out;
    while (out.size() < kBytes) out += text;
    return out;
  };
  const std::string boundary(70, '-'), type = "multipart/form-data; boundary=" + boundary,
                                       start = "--" + boundary + "\r\nContent-Disposition: form-data; name=a\r\n";
  for (const std::string& text :
       {"\r"s, "\r\n"s, "\r\n-"s, "-"s, "\r\n" + std::string(71, '-'), "\r\n" + std::string(71, '-') + "x",
        "\r\n--" + boundary + "x", "A: b\r\n"s, " "s, "\t"s, "A: " + std::string(8000, 'x') + "\r\n", "x"s,
        start + "\r\n", start + "\r\nx\r\n", "\r\n--" + boundary + "\r\n"})
    for (const std::string& before : {std::string(), start, start + "\r\n", "--" + boundary, "--" + boundary + "\r\n",
                                      "--" + boundary + "\r\nContent-Disposition: form-data; name=\""})
      for (const std::string& after : {std::string(), "\r\n--" + boundary + "--"}) {
        const std::string body = before + repeated(text) + after;
        std::size_t looked_at = 0;
        parsed(body, type, &looked_at);
        EXPECT_LE(looked_at, 3 * body.size() + 1000) << testing::PrintToString(text.substr(0, 80));
      }
}
