"""The paper's network as one would write it in PyTorch, trained by Adam on mini-batches.

A tied linear encoder e = Wx (its reconstruction is part of the loss), energy gates that open k of K networks, linear
networks on e whose open outputs are added up, classes compared by the cosine. The loss is either the squared distance
to the attributes of the class, or a softmax over the cosines with all training classes. After every half of an epoch
the accuracy on held-out classes is measured (its time does not count); training ends when that reaches the target or
the time is up. The best accuracy so far is reported.

    torch_network.py --folder FOLDER --loss softmax --target 66.0 --seconds 120 --out RESULT.json
"""
import argparse
import json
import os
import time

import numpy as np
import torch


class Network(torch.nn.Module):
    def __init__(self, dimensions, encoding, networks, opened, outputs):
        super().__init__()
        self.opened, self.networks = opened, networks
        self.encoder = torch.nn.Parameter(torch.linalg.qr(torch.randn(dimensions, encoding)).Q.T.contiguous())
        self.theta = torch.nn.Parameter(torch.zeros(networks * (encoding + 1), outputs))
        self.bias = torch.nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        e = x @ self.encoder.T
        with torch.no_grad():
            parts = (e - e.mean(1, keepdim=True)).reshape(len(e), self.networks, -1).square().mean(2)
            gates = torch.zeros_like(parts).scatter_(1, parts.topk(self.opened, 1).indices, 1.0)
        inputs = torch.cat([torch.ones_like(e[:, :1]), e], 1)
        f = (gates[:, :, None] * inputs[:, None, :]).reshape(len(e), -1) @ self.theta + self.bias
        return e, f


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--loss", choices=("softmax", "squared"), required=True)
    parser.add_argument("--target", type=float, required=True, help="accuracy in percent")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--encoding", type=int, default=400)
    parser.add_argument("--networks", type=int, default=200)
    parser.add_argument("--open", type=int, default=40)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--out", required=True)
    given = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(given.threads)
    x, labels, held, held_labels, semantics = (torch.from_numpy(np.load(os.path.join(given.folder, name + ".npy")))
                                               for name in ("x", "labels", "held", "held_labels", "semantics"))
    labels, held_labels = labels.long(), held_labels.long()
    seen, own = torch.unique(labels, return_inverse=True)
    unseen, held_own = torch.unique(held_labels, return_inverse=True)
    semantics = torch.nn.functional.normalize(semantics)
    centre = semantics[seen].mean(0)
    directions = torch.nn.functional.normalize(semantics - centre)

    def accuracy(network):
        with torch.no_grad():
            f = torch.cat([network(part)[1] for part in held.split(512)])
        best = (torch.nn.functional.normalize(f - centre) @ directions[unseen].T).argmax(1)
        return 100 * float(np.mean([(best[held_own == c] == c).float().mean().item() for c in range(len(unseen))]))

    start = time.perf_counter()
    network = Network(x.shape[1], given.encoding, given.networks, given.open, semantics.shape[1])
    optimiser = torch.optim.Adam(network.parameters(), lr=given.rate)
    trace, best, evaluating, steps = [], 0.0, 0.0, 0
    per_epoch = (len(x) + given.batch - 1) // given.batch
    seconds = 0.0
    while best < given.target and seconds < given.seconds:
        for rows in torch.randperm(len(x)).split(given.batch):
            e, f = network(x[rows])
            loss = (x[rows] - e @ network.encoder).square().sum(1).mean()
            if given.loss == "softmax":
                cosines = torch.nn.functional.normalize(f - centre) @ directions[seen].T
                loss = loss + torch.nn.functional.cross_entropy(10 * cosines, own[rows])
            else:
                loss = loss + (f - semantics[labels[rows]]).square().sum(1).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            steps += 1
            seconds = time.perf_counter() - start - evaluating
            if steps % max(1, per_epoch // 2) == 0 or seconds >= given.seconds:
                begin = time.perf_counter()
                trace.append([seconds, accuracy(network)])
                best = max(best, trace[-1][1])
                evaluating += time.perf_counter() - begin
            if best >= given.target or seconds >= given.seconds:
                break
    with open(given.out, "w") as out:
        json.dump({"torch": torch.__version__, "seconds": seconds, "accuracy": best, "reached": best >= given.target,
                   "epochs": steps // per_epoch, "steps": steps, "batch": given.batch, "rate": given.rate,
                   "threads": given.threads, "trace": trace}, out)


if __name__ == "__main__":
    main()
