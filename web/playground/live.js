// Work that follows the reader: after poke() it runs once more, one run at a time, so that an older answer never
// replaces a newer one. poke({drop: true}) gives up the run under way, whose answer nobody wants any more. Until an
// answer has come, what is shown is out of date: `stale`.

class Live {
  // `onBusy` is called when the work becomes due and when it is done.
  constructor(work, { onProblem, onBusy, pause }) {
    Object.assign(this, { work, onProblem, onBusy, pause, wanted: false, running: null, timer: null, stale: false });
  }

  get busy() {
    return this.timer !== null || this.running !== null;
  }

  poke({ drop = false } = {}) {
    this.wanted = true;
    this.stale = true;
    if (drop && this.running) this.running.abort();
    if (!this.busy) this.timer = window.setTimeout(() => this.run(), this.pause);
    this.onBusy();
  }

  // Nothing is wanted any more.
  cancel() {
    window.clearTimeout(this.timer);
    this.timer = null;
    this.wanted = false;
    this.stale = false;
    if (this.running) this.running.abort();
    this.onBusy();
  }

  async run() {
    this.timer = null;
    this.wanted = false;
    this.running = new AbortController();
    try {
      const show = await this.work(this.running.signal);
      if (!this.running.signal.aborted) {
        this.stale = this.wanted;
        show();
      }
    } catch (error) {
      if (error.name !== "AbortError") this.onProblem(error);
    }
    this.running = null;
    if (this.wanted) this.poke();
    else this.onBusy();
  }
}
