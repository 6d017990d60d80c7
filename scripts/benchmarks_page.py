"""The results of the benchmark suite (out/bench/results.json) as Markdown, for scripts/pages.py."""

import statistics
import textwrap

COLUMNS = 119
IDLE = 0.7  # processes that may want a core before a part starts: the suite itself leaves some load behind


def wrapped(text):
    return textwrap.fill(text, COLUMNS, break_long_words=False, break_on_hyphens=False)


def item(text):
    return textwrap.fill(text, COLUMNS, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head),
            *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows), ""]


def seconds(value):
    if value < 1e-3:
        return f"{1e6 * value:.0f} us"
    return f"{1e3 * value:.1f} ms" if value < 1 else f"{value:.2f} s" if value < 100 else f"{value:.0f} s"


def megabytes(value):
    return f"{value / 1e6:,.0f} MB" if value >= 1e7 else f"{value / 1e6:.2g} MB"


def gflop(value):
    return "" if value == 0 else f"{value / 1e9:,.1f}" if value >= 1e9 else f"{value / 1e9:.2g}"


def percent(value):
    return f"{100 * value:.0f} %"


def times(value):
    return f"{value:,.0f}" if value >= 20 else f"{value:.1f}" if value >= 2 else f"{value:.2f}"


def size_of(data):
    kind = "generated features" if data["generated"] else data["features"]
    return (f"{data['training_samples']:,} training samples of {data['samples']:,}, {data['dimensions']} features "
            f"({kind}), {data['attributes']} attributes, {data['classes']} classes ({data['seen_classes']} seen)")


def environment_block(results):
    """Where and when the parts of one run were measured."""
    here = results["environment"]
    libraries = ", ".join(f"{name} {version}" for name, version in here["libraries"].items())
    peers = ", ".join(f"{name} {version}" for name, version in here["peers"].items())
    changed = " with changed sources" if here["sources_changed"] else ""
    lines = [item(f"ParsNets {here['parsnets']}, commit {here['commit']}{changed}, {here['compiler']}, "
                  f"{here['build_type']}"),
             item(f"{here['cpu']}, {here['simd']}, {here['cores']} cores, {here['memory'] / 2**30:.0f} GiB, "
                  f"{here['system']}"),
             item(f"Libraries: {libraries}"),
             item(f"Peers: {peers}"), ""]
    rows, busy = [], False
    for name, part in results["parts"].items():
        rows.append([name, f"`{part['command']}`", part["started"], "failed" if "failed" in part
                     else seconds(part["took_seconds"]), f"{part['load_before']:.1f}", f"{part['load_after']:.1f}"])
        busy = busy or part["load_before"] > here["cores"] * IDLE + 1
    lines += table(["part", "command", "started", "took", "load before", "load after"], rows)
    if busy:
        lines += [wrapped("The load says that other programs ran at the same time. Times are too long then, and ratios "
                          "of times are chance; ratios of CPU times are less affected."), ""]
    first = [name for name, part in results["parts"].items() if part.get("autogroup_nice", 0) < 0]
    if first:
        lines += [wrapped(f"The scheduler preferred these parts to other programs: {', '.join(first)}."), ""]
    if any(part["quick"] for part in results["parts"].values()):
        lines += [wrapped("Parts with `--quick` are trials of the suite, with few samples, a quarter of the training "
                          "samples where solvers are compared, and short limits. Goals are not judged by them."), ""]
    for name, part in results["parts"].items():
        if "failed" in part:
            lines += [wrapped(f"The part {name} failed: {part['failed']}"), ""]
    return lines


def stages_block(part):
    lines = []
    for data in part["sets"]:
        sizes = data["data"]
        lines += [f"#### {sizes['name']}", "",
                  wrapped(f"{size_of(sizes)}; h {sizes['encoding']}, K {sizes['networks']}, k {sizes['open']}."), ""]
        peaks = {peak["threads"]: peak for peak in data["peaks"]}
        rows = []
        for key, name in (("fma32_flops_per_second", "float32 FMA on registers, Gflop/s; twice that of float64"),
                          ("gemm32_flops_per_second", "float32 products, Gflop/s"),
                          ("gemm64_flops_per_second", "float64 products, Gflop/s"),
                          ("triad_bytes_per_second", "triad, GB/s read and written")):
            middle = {threads: statistics.median(peak[key]) / 1e9 for threads, peak in peaks.items()}
            two = middle.get(2)
            share = key.split("_")[0] + "_of_fma_peak"
            rows.append([name, f"{middle[1]:.1f}", f"{two:.1f}" if two else "", times(two / middle[1]) if two else "",
                         " / ".join(percent(peak[share]) for peak in peaks.values() if share in peak)])
        lines += table(["peak", "1 thread", "2 threads", "ratio", "of FMA peak"], rows)
        stages = {}
        for stage in data["stages"]:
            stages.setdefault(stage["stage"], {})[stage["threads"]] = stage
        rows = []
        for name, runs in stages.items():
            one, two = runs[1], runs.get(2)
            best = two or one
            rows.append([name, gflop(one["flops"]), megabytes(one["bytes"]), seconds(one["seconds"]),
                         seconds(two["seconds"]) if two else "", times(two["times_one_thread"]) if two else "",
                         f"{best['flops_per_second'] / 1e9:.1f}" if one["flops"] else "",
                         *(" / ".join(percent(run[share]) for run in runs.values()) if one["flops"] else ""
                           for share in ("of_fma_peak", "of_gemm_peak")),
                         " / ".join(percent(run["of_triad_bandwidth"]) for run in runs.values())])
        lines += table(["stage", "Gflop", "bytes", "1 thread", "2 threads", "ratio", "Gflop/s", "of FMA peak",
                        "of GEMM", "of triad bandwidth"], rows)
    return lines


def training_block(part):
    rows = []
    for data in part["sets"]:
        for run in data["runs"]:
            rows.append([data["data"]["name"], run["threads"],
                         seconds(run["seconds"]), f"{seconds(min(run['samples']))} to {seconds(max(run['samples']))}",
                         seconds(run.get("training_seconds", run["seconds"])),
                         times(run["times_one_thread"]) if "times_one_thread" in run else "",
                         times(run["gemm_times_one_thread"]) if "gemm_times_one_thread" in run else "",
                         megabytes(run["peak_rss"]), megabytes(run["rss_above_features"])])
    lines = table(["data", "threads", "median", "range", "of it training", "ratio of training", "ratio of GEMM",
                   "peak memory", "above the features"], rows)
    rows = [[f"`{command}`", seconds(statistics.median(samples)), f"{seconds(min(samples))} to {seconds(max(samples))}"]
            for command, samples in part.get("commands", {}).items()]
    return lines + (table(["command, on CUB, all cores", "median", "range"], rows) if rows else [])


def missing(peer):
    return f"MISSING: {peer['missing']}"


def load_block(part):
    ours, scipy = part["ours"], part["scipy"]
    rows = [["ParsNets", seconds(ours["seconds"]), times(ours["peak_of_matrix"]), ""]]
    rows.append(["scipy.io.loadmat", missing(scipy), "", ""] if "missing" in scipy else
                ["scipy.io.loadmat", seconds(scipy["seconds"]), times(scipy["peak_of_matrix"]),
                 times(scipy["times_ours"])])
    return table([part["file"], "seconds", "peak memory over the float32 matrix", "times ours"], rows)


def svr_block(part):
    rows = []
    for bound in part["bounds"]:
        for key, name in (("ours", "ParsNets"), ("ours_with_bias", "ParsNets, with a bias")):
            ours = bound[key]
            rows.append([bound["c"], name, seconds(ours["seconds"]), seconds(ours["cpu_seconds"]),
                         f"{ours['relative_gap']:.1e}", percent(ours["of_gemm_peak"]), "", ""])
        for key, name in (("liblinear", "LIBLINEAR"), ("libsvm", "LIBSVM, with a bias")):
            if key not in bound:
                rows.append([bound["c"], name, missing(part[key]), "", "", "", "", ""])
                continue
            peer = bound[key]
            gap = max(one["relative_gap"] for one in peer["outputs"])
            reached = all(one["reached"] for one in peer["outputs"])
            rows.append([bound["c"], f"{name}, {len(peer['outputs'])} of {part['outputs']} outputs",
                         seconds(peer["seconds_of_all"]), seconds(peer["cpu_seconds_of_all"]),
                         f"{gap:.1e}" + ("" if reached else " (not reached)"), "", times(peer["times_ours"]),
                         times(peer["times_our_cpu"])])
    sizes = (f"{part['data']['name']}, {part['samples']:,} samples, h {part['encoding']}, K {part['networks']}, "
             f"k {part['open']}, {part['outputs']} outputs, epsilon {part['epsilon']}, {part['threads']} threads:")
    head = ["C", "solver", "all outputs", "CPU time", "relative gap", "of GEMM peak", "times ours", "times our CPU"]
    return [wrapped(sizes), "", *table(head, rows)]


def peers_block(part):
    """`part` may hold the part svr: LIBLINEAR and LIBSVM find the optimum of our SVR, one output at a time."""
    ours, rows = part["ours"], []
    for row in part["rows"]:
        own, peer = ours[row["ours"]], row["peer"]
        if "missing" in peer:
            rows.append([row["program"], row["ours"], missing(peer), "", ""])
            continue
        bound = "at least " if row["is_bound"] else ""
        rows.append([row["program"], row["ours"], bound + times(row["times_ours"]), f"{peer['accuracy']:.2f} %",
                     f"{own['accuracy']:.2f} %"])
    accuracy = f"{ours['SVR']['accuracy']:.2f} %" if "SVR" in ours else ""
    for bound in part.get("svr", {}).get("bounds", []):
        for key, name in (("liblinear", "LIBLINEAR"), ("libsvm", "LIBSVM")):
            own = f"SVR, C {bound['c']}"
            if key not in bound:
                rows.append([name, own, missing(part["svr"][key]), "", ""])
                continue
            reached = all(one["reached"] for one in bound[key]["outputs"])
            found = accuracy if bound["c"] == 0.01 else ""
            rows.append([name, own, ("" if reached else "at least ") + times(bound[key]["times_ours"]), found, found])
    said = (f"{part['data']['name']}, {part['fit_samples']:,} samples of the validation fold, "
            f"{part['threads']} threads; accuracies are those on its {part['validation_classes']} validation classes. "
            "Ours: " + "; ".join(f"{name} {seconds(own['seconds'])}" for name, own in ours.items()) + ".")
    head = ["instead of ParsNets", "ours", "its time, times ours", "its accuracy", "ours"]
    return [wrapped(said), "", *table(head, rows)]


# What the exponents of generated data follow from.
GROWTH = {
    "samples": "Statistics, refinement and folds pass over the samples; what each fit does once, such as factors of "
               "d x d and the weights of attributes, keeps training below 1.",
    "dimensions": "Sums of products of features cost n·d² and factors d³/3, the rest n·d or nothing: training nears 2 "
                  "as d grows. In prediction, comparing P outputs with C classes does not depend on d.",
    "classes": "There is an output per seen class: maps and refinement cost n·d·P, scores n·P·C and places P³, while "
               "the products of the features do not grow.",
    "attributes": "Descriptions enter by products of classes with each other: their length matters once per fit.",
}


def growth_block(part):
    rows = []
    for row in part["rows"]:
        rows.append([f"{row['quantity']} {' → '.join(f'{size:,}' for size in row['sizes'])}",
                     " → ".join(seconds(value) for value in row["train_user_seconds"]), f"{row['train_exponent']:.2f}",
                     " → ".join(seconds(value) for value in row["predict_user_seconds"]),
                     f"{row['predict_exponent']:.2f}", GROWTH[row["quantity"]]])
    said = (f"Generated data of {part['samples']:,} samples, {part['dimensions']} dimensions, {part['classes']} "
            f"classes and {part['attributes']} attributes, of which one is doubled twice; user CPU time of one thread.")
    return [wrapped(said), "", *table(["doubled", "default training", "exponent", "prediction of all samples",
                                       "exponent", "why"], rows)]


def photographs_block(part):
    if "missing" in part:
        return [missing(part), ""]
    rows = []
    for engine in part["engines"]:
        for run in engine["runs"]:
            rows.append([engine["engine"], run["threads"], seconds(engine["network_seconds"]),
                         gflop(engine["flops_per_second"]), percent(engine["of_fma_peak"]),
                         seconds(engine["decode_seconds"]), f"{run['images_per_second']:.1f}",
                         percent(run["network_share"])])
    said = f"{part['network']}, {gflop(part['flops'])} GFLOP for a photograph, {part['photographs']} photographs:"
    return [wrapped(said), "", *table(["engine", "threads", "network, one core", "Gflop/s", "of FMA peak",
                                       "decoding, one core", "photographs/s", "network's share of time"], rows)]


def prediction_block(part):
    device, python, lines = part["device"], part["python"], []
    if part.get("bounds"):
        rows = []
        for row in part["bounds"]:
            shares = " / ".join(percent(batch["share_of_peak"]) for batch in row["batches"])
            rows.append([row["model"], row["threads"], f"{row['flops'] / 1e6:.2f} Mflop", megabytes(row["bytes"]),
                         shares, f"{row['one']['seconds'] * 1e6:.0f} us", times(row["one"]["times_bound"])])
        lines += table(["model", "threads", "arithmetic of a sample", "weights it reads",
                        "share of the GEMM peak, 4,096 / 11,788 samples", "one sample", "of reading its weights"], rows)
    if "missing" in device:
        lines += [missing(device), ""]
    else:
        lines += table(["one sample", "median", "times faster than numpy"],
                       [[name, f"{run['median_us']:.1f} us", times(run["times_faster_than_numpy"])]
                        for name, run in device["runs"].items()])
    if "missing" in python:
        return lines + [missing(python), ""]
    one = python["one_sample"]
    rows = [["one sample", 1, f"{one['c_us']:.1f} us", f"{one['predict_us']:.1f} us", f"{one['overhead_us']:+.1f} us"]]
    for many in python["many_samples"]:
        rows.append([f"{many['samples']:,} samples", many["threads"], f"{many['c_per_second']:,.0f} per second",
                     f"{many['predict_per_second']:,.0f} per second", f"ratio {many['ratio']:.3f}"])
    return lines + table(["Python", "threads", "`parsnets_predict_top`", "`predict`", "difference"], rows)


def spread(values):
    mean = f"{statistics.mean(values):.2f}"
    return mean if len(values) < 2 else f"{mean} ± {statistics.stdev(values):.2f}"


def field_block(part):
    lines = []
    for data in part["sets"]:
        lines += [f"{data['data']}, semantics `{data['semantics']}`, {data['seeds']} seeds:", ""]
        rows = []
        for pile in data["piles"]:
            change = [statistics.mean(pile[f"{figure}_with"]) - statistics.mean(pile[f"{figure}_without"])
                      for figure in ("zsl", "h")]
            rows.append([pile["pile"], f"{statistics.mean(pile['samples']):.0f}",
                         f"{statistics.mean(pile['classes_moved']):.0f}", spread(pile["zsl_without"]),
                         spread(pile["zsl_with"]), f"{change[0]:+.2f}", spread(pile["h_without"]),
                         spread(pile["h_with"]), f"{change[1]:+.2f}"])
        lines += table(["unlabelled", "samples", "classes moved", "ZSL without", "ZSL with", "change", "H without",
                        "H with", "change"], rows)
    return lines


def tsne_block(part):
    return table(["rows", "features", "threads", "time", "principal components", "neighbours", "KL divergence",
                  "nearest point of the same class"],
                 [[f"{part['rows']:,}", f"{part['columns']:,}", part["threads"], seconds(part["seconds"]),
                   seconds(part["seconds_of_components"]), seconds(part["seconds_of_neighbours"]),
                   f"{part['kl_divergence']:.3f}", percent(part["nearest_of_same_class"])]])


def serve_block(part):
    rows = []
    for run in part["runs"]:
        rows.append([run["name"], run["clients"], f"{run['predictions_per_second']:,.0f}",
                     f"{run['predictions_per_second_of_two_cores']:,.0f}", seconds(run["p50_seconds"]),
                     seconds(run["p99_seconds"]), run["errors"], megabytes(run["resident_start"]),
                     megabytes(run["resident_end"]), gflop(run["flops_per_second"]),
                     megabytes(run["body_bytes_per_second"])])
    return table(["requests", "clients", "predictions/s", "if two cores were free", "p50", "p99", "errors",
                  "memory at first", "at the end", "GFLOP/s", "bodies per second"], rows)


def at_least(ratio, exact, wanted):
    """(text, whether it holds) of a peer's time over ours; a lower bound below the goal decides nothing."""
    return f"{'' if exact else 'less than '}1/{ratio:.0f}", True if ratio >= wanted else False if exact else None


CLOSED_FORM = ("statistics", "closed form, class space")


def closed_form_share(stages):
    """Of GEMM, over the stages of the closed form on the most threads: weighted by their times."""
    runs = {stage["stage"]: stage for stage in stages}  # the last is that of the most threads
    if not all(name in runs for name in CLOSED_FORM):
        return None
    return (sum(runs[name]["of_gemm_peak"] * runs[name]["seconds"] for name in CLOSED_FORM)
            / sum(runs[name]["seconds"] for name in CLOSED_FORM))


def goals(parts):
    """(what is promised, what was measured, whether it holds or None) of the parts that are there."""
    rows = []
    for data in parts.get("training", {}).get("sets", []):
        name, run = data["data"]["name"], data["runs"][-1]
        limit = {"CUB": 2.5, "AWA2-sized": 8}[name]
        rows.append([f"default training on {name} takes at most {limit} s, with the reading of files",
                     seconds(run["seconds"]), run["seconds"] <= limit])
        if name == "AWA2-sized":
            rows.append(["and at most 0.7 GB", megabytes(run["peak_rss"]), run["peak_rss"] <= 7e8])
        if "times_one_thread" in run and run["gemm_times_one_thread"] >= 1.8:
            rows.append([f"the second thread makes training on {name} 1.8 times faster, where it does so for GEMM",
                         f"{times(run['times_one_thread'])}, GEMM {times(run['gemm_times_one_thread'])}",
                         run["times_one_thread"] >= 1.8])
    for command, limit in (("train --search auto", 25), ("calibrate", 5)):
        samples = parts.get("training", {}).get("commands", {}).get(command)
        if samples:
            rows.append([f"`{command}` on CUB takes at most {limit} s", seconds(statistics.median(samples)),
                         statistics.median(samples) <= limit])
    for data in parts.get("stages", {}).get("sets", []):
        name = data["data"]["name"]
        for peak in data["peaks"][-1:]:
            share = peak["gemm32_of_fma_peak"]
            rows.append([f"float32 products reach 80 % of the FMA peak ({name})", percent(share), share >= 0.8])
        share = closed_form_share(data["stages"])
        if share:
            rows.append([f"the closed form reaches 85 % of GEMM ({name})", percent(share), share >= 0.85])
    for bound in parts.get("svr", {}).get("bounds", []):
        if "liblinear" in bound:
            ratio, outputs = bound["liblinear"]["times_ours"], bound["liblinear"]["outputs"]
            rows.append([f"the SVR with C {bound['c']} takes at most 1/200 of LIBLINEAR's time",
                         *at_least(ratio, all(one["reached"] for one in outputs), 200)])
    ratios = [(row["times_ours"], not row["is_bound"]) for row in parts.get("peers", {}).get("rows", [])
              if row["program"].startswith("PyTorch") and "times_ours" in row]
    if ratios:
        rows.append(["default training takes at most 1/10 of the time of the PyTorch network, for the same accuracy",
                     *at_least(*min(ratios), 10)])
    bounds = parts.get("prediction", {}).get("bounds", [])
    if bounds:
        least = min(batch["share_of_peak"] for row in bounds for batch in row["batches"])
        most = max(row["one"]["times_bound"] for row in bounds)
        rows.append(["batches are predicted at 40 % of the GEMM peak or more", percent(least), least >= 0.4])
        rows.append(["one sample takes at most 3 times as long as reading its weights", times(most), most <= 3])
    single = parts.get("prediction", {}).get("device", {}).get("runs", {}).get("runtime int8")
    if single:
        rows.append(["the C runtime predicts one sample with int8 weights in a median of at most 25 us",
                     f"{single['median_us']:.1f} us", single["median_us"] <= 25])
    for engine in parts.get("photographs", {}).get("engines", []):
        rows.append([f"networks on photographs reach half of the FMA peak ({engine['engine']})",
                     percent(engine["of_fma_peak"]), engine["of_fma_peak"] >= 0.5])
    runs = parts.get("serve", {}).get("runs", [])
    for run in runs:
        if run["batch"] > 1:
            rate = run["predictions_per_second"]
            rows.append([f"the server predicts 20,000 samples per second or more on two cores ({run['name']})",
                         f"{rate:,.0f}", rate >= 20000])
    if runs:
        errors = sum(run["errors"] for run in runs)
        growth = max(run["resident_end"] / run["resident_start"] for run in runs)
        tail = max(run["p99_seconds"] / run["p50_seconds"] for run in runs)
        rows.append(["the server answers all requests of a load test", f"{errors} errors", errors == 0])
        rows.append(["its memory grows by at most 10 % meanwhile", times(growth), growth <= 1.1])
        rows.append(["its p99 is at most 5 times its p50", times(tail), tail <= 5])
    return rows


BLOCKS = (("stages", "Stages", stages_block), ("training", "Training from end to end", training_block),
          ("growth", "Cost as work grows", growth_block),
          ("peers", "What people would use instead", peers_block),
          ("svr", "SVR beside LIBLINEAR and LIBSVM", svr_block), ("load", "Reading features", load_block),
          ("prediction", "Prediction", prediction_block), ("photographs", "Photographs", photographs_block),
          ("field", "Unlabelled samples that do not suit", field_block), ("tsne", "t-SNE of the report", tsne_block),
          ("serve", "Serving over HTTP", serve_block))


def block(results, *others):
    """`others`: results of other runs, of parts that were measured apart."""
    lines = ["### Environment", "", *environment_block(results)]
    entries, commits = dict(results["parts"]), {}
    for apart in others:
        twice = sorted(entries.keys() & apart["parts"].keys())
        if twice:
            raise ValueError(f"expected each part in one of the files, found in several: {', '.join(twice)}")
        lines += [f"### Environment of {', '.join(apart['parts'])}", "", *environment_block(apart)]
        entries.update(apart["parts"])
        commits.update(dict.fromkeys(apart["parts"], apart["environment"]["commit"]))
    parts = {name: part["results"] for name, part in entries.items() if "results" in part}
    if "peers" in parts and "svr" in parts:
        parts["peers"] = {**parts["peers"], "svr": parts["svr"]}
    rows = goals({name: part for name, part in parts.items() if not entries[name]["quick"]})
    if rows:
        said = {True: "yes", False: "**no**", None: "not decided"}
        cells = [[what, found, said[holds]] for what, found, holds in rows]
        lines += ["### Goals", "", *table(["goal", "measured", "holds"], cells)]
    for name, title, make in BLOCKS:
        lines += [f"### {title}", ""]
        if name in commits:
            lines += [wrapped(f"Measured apart from the other parts, at commit {commits[name]}."), ""]
        lines += make(parts[name]) if name in parts else ["Not in these results.", ""]
    return "\n".join(lines).rstrip()
