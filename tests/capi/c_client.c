/* A client in C99, linked with the shared library alone: trains on a data set folder, evaluates, predicts, explains,
 * changes classes and stores the model. Exits with 0 if every figure is right. Usage: c_client DATA_FOLDER
 * MODEL_FILE_TO_WRITE */

#include <math.h>
#include <parsnets/parsnets.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      fprintf(stderr, "%s:%d: %s is false (last error: %s)\n", __FILE__, __LINE__, #condition, parsnets_last_error()); \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)
#define OK(call) CHECK((call) == PARSNETS_OK)

enum { CLASSES = 10, ATTRIBUTES = 39 }; /* of the data set */

struct watcher {
  unsigned calls, stop_after;
};

static int watch(const parsnets_progress *progress, void *user) {
  struct watcher *watcher = user;
  CHECK(progress->size == sizeof *progress);
  CHECK(progress->stage != NULL && progress->stage[0] != '\0' && progress->unit != NULL);
  CHECK(progress->total == 0 || progress->done <= progress->total);
  return ++watcher->calls == watcher->stop_after;
}

static parsnets_model *train_ridge(const parsnets_dataset *dataset) {
  parsnets_options *options = NULL;
  parsnets_model *model = NULL;
  struct watcher watcher = {0, 1};
  const char *json = NULL;
  OK(parsnets_options_create(&options));
  OK(parsnets_options_set(options, "method", "ridge"));
  OK(parsnets_options_set(options, "lambda", "2.5"));
  OK(parsnets_options_json(options, &json));
  CHECK(strstr(json, "\"method\":\"ridge\"") != NULL && strstr(json, "\"lambda\":2.5") != NULL);
  CHECK(parsnets_options_set(options, "lambda", "a lot") == PARSNETS_USAGE);
  CHECK(strstr(parsnets_last_error(), "lambda") != NULL && strstr(parsnets_last_error(), "a lot") != NULL);
  CHECK(parsnets_train(dataset, options, 2, watch, &watcher, &model) == PARSNETS_CANCELLED);
  CHECK(model == NULL && watcher.calls == 1);
  OK(parsnets_train(dataset, options, 1, NULL, NULL, &model));
  parsnets_options_free(options);
  return model;
}

static void check_evaluation(const parsnets_model *model, const parsnets_dataset *dataset) {
  parsnets_evaluation figures;
  figures.size = sizeof figures;
  OK(parsnets_evaluate(model, dataset, NULL, 0, NULL, NULL, &figures));
  CHECK(figures.zsl_top1_per_class > 85 && figures.zsl_top1_per_class <= 100);
  CHECK(figures.zsl_top5 == 100); /* there are two unseen classes */
  CHECK(figures.has_gzsl == 1 && figures.ausuc > 50 && figures.ausuc <= 100);
  CHECK(fabs(figures.h - 2 * figures.u * figures.s / (figures.u + figures.s)) < 1e-9 && figures.h > 50);
}

static void check_prediction(const parsnets_model *model, const parsnets_dataset *dataset) {
  parsnets_dataset_info data;
  parsnets_model_info info;
  parsnets_explanation why;
  enum { n = 7 };
  float scores[n * CLASSES], confidences[n * CLASSES], contributions[ATTRIBUTES], semantics[ATTRIBUTES];
  int32_t top[n * CLASSES], open = -1;
  double sum = 0;
  size_t i, c;
  data.size = sizeof data;
  info.size = sizeof info;
  why.size = sizeof why;
  OK(parsnets_dataset_get_info(dataset, &data));
  OK(parsnets_model_get_info(model, &info));
  CHECK(info.dimensions == data.dimensions && info.classes == data.classes && info.attributes == data.attributes);
  CHECK(strcmp(info.method, "ridge") == 0 && info.temperature > 0 && info.predicts_semantics);
  OK(parsnets_predict_scores(model, data.features, n, data.dimensions, 1, scores, info.classes));
  OK(parsnets_predict_confidences(model, data.features, n, data.dimensions, 1, confidences, info.classes));
  OK(parsnets_predict_top(model, data.features, n, data.dimensions, PARSNETS_ALL, info.classes, 1, top, NULL));
  for (i = 0; i < n; ++i) {
    const float *s = scores + i * info.classes;
    const int32_t best = top[i * info.classes];
    /* Gamma is taken from the seen classes before they are ranked. */
    for (c = 0; c < info.classes; ++c)
      CHECK(s[best] - (info.seen[best] ? info.gamma : 0) >= s[c] - (info.seen[c] ? info.gamma : 0) - 1e-6);
  }
  OK(parsnets_explain(model, data.features, data.dimensions, &why, contributions, semantics, info.attributes, &open,
                      1));
  CHECK(why.winner == top[0] && why.runner_up == top[1] && open == 0);
  for (c = 0; c < info.attributes; ++c) sum += contributions[c];
  CHECK(fabs(sum + why.calibration + why.examples - (why.winner_score - why.runner_up_score)) < 1e-5);
}

static void check_classes(parsnets_model *model, const char *file) {
  parsnets_model_info info;
  parsnets_model *copy = NULL, *loaded = NULL;
  const char *name = NULL;
  info.size = sizeof info;
  OK(parsnets_model_get_info(model, &info));
  OK(parsnets_model_clone(model, &copy));
  const char *const added = "unicorn";
  OK(parsnets_model_add_classes(copy, &added, info.semantics, 1, ATTRIBUTES));
  CHECK(parsnets_model_add_classes(copy, &added, info.semantics, 1, ATTRIBUTES) == PARSNETS_BAD_INPUT);
  OK(parsnets_model_save(copy, file));
  OK(parsnets_model_load(file, &loaded));
  OK(parsnets_model_get_info(loaded, &info));
  CHECK(info.classes == CLASSES + 1 && info.seen[CLASSES] == 0);
  OK(parsnets_model_class_name(loaded, CLASSES, &name));
  CHECK(strcmp(name, "unicorn") == 0);
  OK(parsnets_model_remove_class(loaded, "unicorn"));
  CHECK(parsnets_model_remove_class(loaded, "unicorn") == PARSNETS_BAD_INPUT);
  OK(parsnets_model_get_info(model, &info));
  CHECK(info.classes == CLASSES);
  parsnets_model_free(loaded);
  parsnets_model_free(copy);
}

int main(int argc, char **argv) {
  parsnets_load_options load = PARSNETS_LOAD_OPTIONS_INIT;
  parsnets_dataset *dataset = NULL;
  parsnets_dataset_info info;
  parsnets_dataset_facts former;
  parsnets_model *model;
  CHECK(argc == 3);
  CHECK(parsnets_abi_version() == PARSNETS_ABI_VERSION && strlen(parsnets_version()) >= 5);
  CHECK(parsnets_dataset_load("no such folder", NULL, NULL, NULL, &dataset) == PARSNETS_BAD_INPUT && dataset == NULL);
  CHECK(strstr(parsnets_last_error(), "no such folder") != NULL);
  OK(parsnets_dataset_load(argv[1], &load, NULL, NULL, &dataset));
  info.size = sizeof info;
  OK(parsnets_dataset_get_info(dataset, &info));
  former.size = sizeof former;
  OK(parsnets_dataset_get_facts(dataset, &former)); /* the name of version 0.1 */
  CHECK(former.samples == info.samples);
  CHECK(info.samples == 2400 && info.dimensions == 192 && info.classes == CLASSES && info.attributes == ATTRIBUTES);
  CHECK(info.trainval + info.test_seen + info.test_unseen == info.samples && info.train + info.val == info.trainval);
  model = train_ridge(dataset);
  check_evaluation(model, dataset);
  check_prediction(model, dataset);
  check_classes(model, argv[2]);
  parsnets_model_free(model);
  parsnets_dataset_free(dataset);
  parsnets_model_free(NULL);
  return 0;
}
