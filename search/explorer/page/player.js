// Runs a search at a speed: so many events a second, in as many steps as the screen shows pictures.

export class Player {
  /** `advance(events)` goes on and tells whether there is more; `changed(playing)` is told of start and stop. */
  constructor(advance, changed) {
    this.advance = advance;
    this.changed = changed;
    this.speed = 4;
    this.playing = false;
  }

  toggle() {
    if (this.playing) this.stop();
    else this.start();
  }

  start() {
    if (this.playing) return;
    this.playing = true;
    this.changed(true);
    // The first event follows at once.
    this.due = 1;
    this.last = performance.now();
    const frame = (now) => {
      if (!this.playing) return;
      // A tab that was hidden does not catch up.
      this.due += Math.min(now - this.last, 500) * this.speed / 1000;
      this.last = now;
      const events = Math.floor(this.due);
      this.due -= events;
      if (events > 0 && !this.advance(events)) this.stop();
      else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  stop() {
    if (!this.playing) return;
    this.playing = false;
    this.changed(false);
  }
}
