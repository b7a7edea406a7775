  // Waits by when they ended and how long they had taken.
  const LEAST_POWER = 9;
  const bounds = (low, high) => (low <= LEAST_POWER ? 'up to ' : duration(2 ** low) + ' to ') + duration(2 ** (high + 1));
  function makeHeat(data, choose) {
    const field = document.querySelector('.heat');
    const picture = field.querySelector('svg');
    const reading = document.querySelector('.heat-reading');
    const list = document.querySelector('.heat-locks');
    const cells = [];
    for (let cell = 0; cell < data.cells.length; cell += 4) {
      const [of, box, power, waits] = data.cells.slice(cell, cell + 4);
      cells.push({ label: data.locks[of], box, power, waits });
    }
    let [first, last, sums, shown, chosen] = [0, 0, new Map(), '', {}];
    const isChosen = ({ box, power }) => isIn(chosen.boxes, box) && isIn(chosen.powers, power);
    field.hidden = false;
    const counted = waits => waits.toLocaleString('en') + (waits === 1 ? ' wait' : ' waits');
    function tell(at) {
      if (!at) {
        let [all, own] = [0, 0];
        for (const [key, waits] of sums) {
          all += waits;
          if (isChosen({ box: Math.floor(key / 64), power: key % 64 })) own += waits;
        }
        const part = chosen.boxes || chosen.powers ? own.toLocaleString('en') + ' of ' : '';
        reading.textContent = all ? part + counted(all) + shown : 'No wait matches.';
        return;
      }
      const [box, power] = [at[0], at[1] + first];
      reading.textContent = duration(box * data.box_ns) + ' after the start, ' + bounds(power, power) + ': '
        + counted(sums.get(box * 64 + power) || 0) + shown;
    }
    const selection = makeSelection(picture, () => [data.boxes, last - first + 1], tell, (from, to, isLonger) => {
      if (!from) {
        choose(null, null, isLonger);
        return;
      }
      const sorted = at => [from[at], to[at]].sort((a, b) => a - b);
      const [boxes, powers] = [sorted(0), sorted(1).map(row => row + first)];
      const isAll = ([low, high], least, most) => low === least && high === most;
      choose(isAll(boxes, 0, data.boxes - 1) ? null : boxes, isAll(powers, first, last) ? null : powers, isLonger);
    });
    // The waits that are chosen, lock by lock; each of these has a button.
    function tellLocks(isShown) {
      const byLock = new Map();
      const own = cells.filter(cell => isChosen(cell) && isShown(cell.label));
      for (const { label, waits } of own) byLock.set(label, (byLock.get(label) || 0) + waits);
      const isPart = chosen.boxes || chosen.powers;
      const rows = isPart ? [...byLock].sort((a, b) => b[1] - a[1]) : [];
      list.replaceChildren(...rows.map(([name, waits]) => {
        const item = document.createElement('li');
        const colour = name && colours.get(plainLock(name));
        if (colour) {
          const key = document.createElement('span');
          key.className = 'key ' + colour;
          item.append(key);
        }
        const button = document.createElement(name ? 'button' : 'span');
        if (name) Object.assign(button, { type: 'button', className: 'lock-name' });
        // The class says little to those who know the name.
        button.textContent = name.replace(/ \(.*\)$/, '') || 'other locks';
        if (name) [button.dataset.lock, button.title] = [name, name];
        item.append(button, ' ' + waits.toLocaleString('en'));
        return item;
      }));
    }
    function drawCells() {
      const most = Math.log2(Math.max(1, ...sums.values()) + 1);
      picture.setAttribute('viewBox', [0, 0, data.boxes, last - first + 1].join(' '));
      picture.style.height = (last - first + 1) * 14 + 'px';
      picture.replaceChildren(...[...sums].map(([key, waits]) => {
        const rect = document.createElementNS(spaces, 'rect');
        const [box, power] = [Math.floor(key / 64), key % 64];
        const sizes = { x: box, y: power - first, width: 1, height: 1 };
        for (const [name, value] of Object.entries(sizes)) rect.setAttribute(name, value);
        const level = Math.min(7, Math.floor(Math.log2(waits + 1) / most * 7.99));
        rect.setAttribute('class', 'h' + level + (isChosen({ box, power }) ? '' : ' out'));
        return rect;
      }));
    }
    return {
      list,
      // Of the locks that are told apart, those that nobody waited for in what is chosen.
      leftOut(boxes, powers) {
        chosen = { boxes, powers };
        const left = new Set(cells.filter(isChosen).map(cell => plainLock(cell.label)));
        return new Set(data.locks.map(plainLock).filter(lock => lock && !left.has(lock)));
      },
      show(isShown, lock) {
        sums = new Map();
        for (const { label, box, power, waits } of cells) {
          if (!isShown(label)) continue;
          const key = box * 64 + power;
          sums.set(key, (sums.get(key) || 0) + waits);
        }
        shown = lock ? ' for ' + lock : '';
        const powers = [...sums.keys()].map(key => key % 64);
        [first, last] = powers.length ? [Math.min(...powers), Math.max(...powers)] : [0, 0];
        drawCells();
        const labels = powers.length ? Array.from({ length: last - first + 1 }, (_, row) => first + row) : [];
        field.querySelector('.durations').replaceChildren(...labels.map(power => {
          const label = document.createElement('span');
          label.textContent = (power - first) % 2 ? '' : duration(2 ** power);
          return label;
        }));
        const [left, right] = chosen.boxes || [0, data.boxes - 1];
        const [low, high] = (chosen.powers || [first, last]).map(power => Math.min(last, Math.max(first, power)) - first);
        selection.show(chosen.boxes || chosen.powers ? [[left, low], [right, high]] : null);
        tellLocks(isShown);
        tell(null);
        picture.setAttribute('aria-label', 'Heat map: ' + reading.textContent);
      },
    };
  }
