  // Waits by when they ended and how long they had taken.
  function makeHeat(data) {
    const field = document.querySelector('.heat');
    const picture = field.querySelector('svg');
    const reading = document.querySelector('.heat-reading');
    const spaces = 'http' + '://www.w3.org/2000/svg';
    let [first, last, sums, shown, at] = [0, 0, new Map(), '', null];
    field.hidden = false;
    const bounds = power => (power === 9 ? 'up to ' : duration(2 ** power) + ' to ') + duration(2 ** (power + 1));
    function tell() {
      const all = [...sums.values()].reduce((sum, waits) => sum + waits, 0);
      if (!at) {
        reading.textContent = all ? all.toLocaleString('en') + ' waits' + shown : 'No wait matches.';
        return;
      }
      const waits = sums.get(at[0] * 64 + at[1]) || 0;
      reading.textContent = duration(at[0] * data.box_ns) + ' after the start, ' + bounds(at[1]) + ': '
        + waits.toLocaleString('en') + ' waits' + shown;
    }
    function place(event) {
      const box = picture.getBoundingClientRect();
      const part = (value, from, length, count) =>
        Math.min(count - 1, Math.max(0, Math.floor((value - from) / length * count)));
      at = [part(event.clientX, box.left, box.width, data.boxes),
        first + part(event.clientY, box.top, box.height, last - first + 1)];
      tell();
    }
    picture.addEventListener('mousemove', place);
    picture.addEventListener('mouseleave', () => { at = null; tell(); });
    picture.addEventListener('keydown', event => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (!step) return;
      event.preventDefault();
      const [x, y] = at || [0, first];
      at = [Math.min(data.boxes - 1, Math.max(0, x + step[0])), Math.min(last, Math.max(first, y + step[1]))];
      tell();
    });
    return {
      show(isShown, lock) {
        sums = new Map();
        for (let cell = 0; cell < data.cells.length; cell += 4) {
          const [of, box, power, waits] = data.cells.slice(cell, cell + 4);
          if (isShown && !isShown(data.locks[of])) continue;
          const key = box * 64 + power;
          sums.set(key, (sums.get(key) || 0) + waits);
        }
        shown = lock ? ' for ' + lock : '';
        const powers = [...sums.keys()].map(key => key % 64);
        [first, last] = powers.length ? [Math.min(...powers), Math.max(...powers)] : [0, 0];
        const most = Math.log2(Math.max(1, ...sums.values()) + 1);
        picture.setAttribute('viewBox', [0, 0, data.boxes, last - first + 1].join(' '));
        picture.style.height = (last - first + 1) * 14 + 'px';
        picture.replaceChildren(...[...sums].map(([key, waits]) => {
          const rect = document.createElementNS(spaces, 'rect');
          const sizes = { x: Math.floor(key / 64), y: key % 64 - first, width: 1, height: 1 };
          for (const [name, value] of Object.entries(sizes)) rect.setAttribute(name, value);
          rect.setAttribute('class', 'h' + Math.min(7, Math.floor(Math.log2(waits + 1) / most * 7.99)));
          return rect;
        }));
        const labels = powers.length ? Array.from({ length: last - first + 1 }, (_, row) => first + row) : [];
        field.querySelector('.durations').replaceChildren(...labels.map(power => {
          const label = document.createElement('span');
          label.textContent = (power - first) % 2 ? '' : duration(2 ** power);
          return label;
        }));
        at = null;
        tell();
        picture.setAttribute('aria-label', 'Heat map: ' + reading.textContent);
      },
    };
  }
  const heatData = id('heat-data');
  const heat = heatData && makeHeat(JSON.parse(heatData.textContent));
