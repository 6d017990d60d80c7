#include "serve/request_head.hpp"

#include <gtest/gtest.h>

#include "serve/http.hpp"

namespace {

using namespace parsnets;

int status_of(const std::string& text) {
  try {
    parse_request_head(text);
    return 200;
  } catch (const HttpError& e) {
    return e.status();
  }
}

}  // namespace

TEST(RequestHead, ReadsLineHeadersAndLength) {
  const auto head = parse_request_head(
      "POST /a?b HTTP/1.1\r\nHost: x\r\nContent-LENGTH:\t12 \r\nConnection: Keep-Alive, Close\r\n\r\n");
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.target, "/a?b");
  EXPECT_EQ(head.length, 12u);
  EXPECT_TRUE(head.closes());
  EXPECT_EQ(*head.find("host"), "x");
  EXPECT_EQ(head.find("cookie"), nullptr);
}

TEST(RequestHead, PassesOnOnlyWhatTheBodyNeeds) {
  const auto head = parse_request_head(
      "POST / HTTP/1.0\r\nRange: bytes=0-1\r\nAccept-Encoding: gzip\r\nREMOTE_ADDR: 1.2.3.4\r\nContent-Type: "
      "a/b\r\nContent-Length: 1\r\n\r\n");
  EXPECT_EQ(head.text(), "POST / HTTP/1.1\r\ncontent-length: 1\r\n\r\n");
  EXPECT_TRUE(head.closes()) << "HTTP/1.0";
}

TEST(RequestHead, HasOneMeaningOrIsRefused) {
  const std::string start = "POST / HTTP/1.1\r\n";
  for (const char* ambiguous :
       {"Content-Length: 1\r\nContent-Length: 1\r\n", "Content-Length: 1,1\r\n", "Content-Length: -1\r\n",
        "Content-Length: 1 \x01\r\n", "Content-Length : 1\r\n", " Content-Length: 1\r\n", "Content-Length: 1\n"})
    EXPECT_EQ(status_of(start + ambiguous + "\r\n"), 400) << ambiguous;
  for (const char* coding : {"chunked", "CHUNKED", "gzip", "chunked, chunked", "identity", "\"chunked\"", ""})
    for (const char* length : {"", "Content-Length: 1\r\n"})
      EXPECT_EQ(status_of(start + length + "Transfer-Encoding: " + coding + "\r\n\r\n"), 411) << coding;
}

TEST(RequestHead, RequestLinesOfOtherFormsAreRefused) {
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 200);
  EXPECT_EQ(status_of("GET / HTTP/3.0\r\n\r\n"), 505);
  EXPECT_EQ(status_of("GET /" + std::string(8000, 'x') + " HTTP/1.1\r\n\r\n"), 414);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nA: " + std::string(8001, 'x') + "\r\n\r\n"), 431);
  for (const char* line : {"", "GET", "GET /", "/ HTTP/1.1", "GET  HTTP/1.1", "GET x HTTP/1.1", "GET /a b HTTP/1.1",
                           "G(T / HTTP/1.1", "GET / FTP/1.1"})
    EXPECT_EQ(status_of(std::string(line) + "\r\n\r\n"), 400) << line;
}
