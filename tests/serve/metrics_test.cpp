#include "serve/metrics.hpp"

#include <gtest/gtest.h>

TEST(Metrics, CountsInTheFormatOfPrometheus) {
  parsnets::Metrics metrics;
  metrics.add_request("/v1/predict", 200, 0.004);
  metrics.add_request("/v1/predict", 200, 0.3);
  metrics.add_request("/v1/predict", 400, 100);
  metrics.add_refused("rate");
  metrics.add_predictions(64);
  metrics.add_connections(2);
  const std::string text = metrics.text();
  for (const char* line :
       {"parsnets_requests_total{route=\"/v1/predict\",code=\"200\"} 2\n",
        "parsnets_requests_total{route=\"/v1/predict\",code=\"400\"} 1\n",
        "parsnets_request_seconds_bucket{route=\"/v1/predict\",le=\"0.0025\"} 0\n",
        "parsnets_request_seconds_bucket{route=\"/v1/predict\",le=\"0.005\"} 1\n",
        "parsnets_request_seconds_bucket{route=\"/v1/predict\",le=\"10\"} 2\n",
        "parsnets_request_seconds_bucket{route=\"/v1/predict\",le=\"+Inf\"} 3\n",
        "parsnets_request_seconds_count{route=\"/v1/predict\"} 3\n", "parsnets_refused_total{reason=\"rate\"} 1\n",
        "parsnets_predictions_total 64\n", "parsnets_connections 2\n", "# TYPE parsnets_request_seconds histogram\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  EXPECT_NE(text.find("\nparsnets_resident_bytes "), std::string::npos);
}
