  // Flame graphs: drawn from sums by stack, thread and lock, roots at the top.
  // Three digits in the unit that suits, as everywhere in the report.
  function duration(ns) {
    for (const [size, unit] of [[1, 'ns'], [1e3, 'µs'], [1e6, 'ms']]) {
      const value = Number((ns / size).toPrecision(3));
      if (value < 1000) return value + ' ' + unit;
    }
    const seconds = ns / 1e9;
    if (seconds >= 999.5) return Math.round(seconds).toLocaleString('en') + ' s';
    return Number(seconds.toPrecision(3)) + ' s';
  }
  const percent = (part, whole) => (whole ? 100 * part / whole : 0).toFixed(1) + ' %';

  // `[lock] Cache.map (a.b.C)` is shown as `Cache.map`, a method without its package.
  function label(name) {
    const lock = /^\[[^\]]*\] (.*?)( \(.*\))?$/.exec(name);
    const text = lock ? lock[1] : name;
    if (name.startsWith('[') && !lock) return text;
    return text.replace(/^(?:\p{Ll}[\p{L}\p{N}_]*\.)+(?=\p{Lu})/u, '');
  }
  const JDK = /^(java|javax|jdk|sun|com\.sun)\./;
  const OTHERS = 'other';
  // `own` are the frames of the program's code; where nobody knows, all but the JDK's.
  function kind(name, own) {
    if (/^\[[^\]]*\] /.test(name)) return 'lock';
    if (/^\[[a-z]+\]$/.test(name)) return 'state ' + name.slice(1, -1);
    if (JDK.test(name)) return 'jdk';
    return own.size && !own.has(name) ? OTHERS : 'own';
  }
  // `org.springframework` of `org.springframework.web.Foo.bar`.
  function packageOf(name) {
    const parts = name.split('.');
    const end = parts.findIndex(part => /^\p{Lu}/u.test(part));
    return parts.slice(0, Math.min(end < 0 ? 0 : end, JDK.test(name) ? 1 : 2)).join('.');
  }

  // The stacks as they are called, or from their other end on: at the lock.
  function treeOf(data, isInverted) {
    const [parents, labels] = [[-1], ['all']];
    for (let at = 0; at < data.nodes.length; at += 2) {
      parents.push(data.nodes[at]);
      labels.push(data.frames[data.nodes[at + 1]]);
    }
    const rows = [];
    for (let at = 0; at < data.sums.length; at += 4) {
      const [node, thread, lock, sum] = data.sums.slice(at, at + 4);
      rows.push({ node, thread: data.threads[thread], lock: data.locks[lock], sum });
    }
    if (!isInverted) return { parents, labels, rows };
    const [known, up, names] = [new Map(), [-1], ['all']];
    function child(parent, label) {
      const key = parent + ' ' + label;
      if (!known.has(key)) {
        known.set(key, up.length);
        up.push(parent);
        names.push(label);
      }
      return known.get(key);
    }
    const turned = rows.map(row => {
      let at = 0;
      for (let node = row.node; node > 0; node = parents[node]) at = child(at, labels[node]);
      return { ...row, node: at };
    });
    return { parents: up, labels: names, rows: turned };
  }

  const ROW = 20;
  const LEAST = 2;
  // Fewer frames in a row are shown one by one.
  const FOLDED = 3;
  function makeGraph(element, data) {
    const own = new Set(data.own.map(at => data.frames[at]));
    let parents, labels, rows, children;
    let opened = new Set();
    // What stands for each frame that is folded into another one.
    let standsFor = new Map();
    let filters = ['', '', '', new Set()];
    function turn(isInverted) {
      ({ parents, labels, rows } = treeOf(data, isInverted));
      children = parents.map(() => []);
      parents.forEach((parent, node) => { if (parent >= 0) children[parent].push(node); });
      opened = new Set();
      zoomed = 0;
    }
    const canvas = element.querySelector('.flame');
    const reading = element.querySelector('.reading');
    let whole = [];
    let zoomed = 0;
    let text = '';
    let drawn = 0;

    // From a frame on, those that have one alone to call, up to the program's own.
    function chain(node) {
      const frames = [];
      const folds = it => /^(jdk|other)$/.test(kind(labels[it], own)) && !opened.has(it);
      for (let at = node; folds(at);) {
        frames.push(at);
        const [next] = children[at];
        if (next === undefined || whole[next] !== whole[at]) break;
        at = next;
      }
      return frames.length < FOLDED ? [node] : frames;
    }
    function foldedName(frames) {
      const packages = [...new Set(frames.map(node => packageOf(labels[node])).filter(Boolean))];
      const more = packages.length > 3 ? ', …' : '';
      return frames.length + ' frames of ' + packages.slice(0, 3).join(', ') + more;
    }
    const nameOf = node => {
      const frames = node ? chain(node) : [node];
      return frames.length > 1 ? foldedName(frames) : labels[node];
    };
    const amount = value => (data.counted
      ? value.toLocaleString('en') + ' ' + data.counted[value === 1 ? 0 : 1] : duration(value));
    const words = node => nameOf(node) + ', ' + amount(whole[node]) + ', '
      + percent(whole[node], whole[0]);
    function tell(node) {
      const hits = text ? ' · ' + percent(matched(), whole[0]) + ' matches “' + text + '”' : '';
      reading.textContent = (whole[0] ? words(node) : 'Nothing matches.') + hits;
    }
    const isHit = node => text && labels[node].toLowerCase().includes(text);
    // Of frames that match, those in others that do count once.
    function matched(node = 0) {
      if (isHit(node)) return whole[node];
      return children[node].reduce((sum, child) => sum + matched(child), 0);
    }
    function frame(node, depth, left, width, frames) {
      const button = document.createElement('button');
      button.type = 'button';
      const isFolded = frames.length > 1;
      button.className = 'f ' + (node ? kind(labels[node], own) : 'root')
        + (frames.some(isHit) ? ' hit' : '') + (isFolded ? ' folded' : '');
      const colour = node && colours.get(plainLock(labels[node]));
      if (colour && kind(labels[node], own) === 'lock') button.classList.add('marked', colour);
      button.style.cssText = 'left:' + left + '%;width:' + width + '%;top:' + depth * ROW + 'px';
      if (width / 100 * drawn >= 24) {
        button.textContent = isFolded ? foldedName(frames) : label(labels[node]);
      }
      else button.classList.add('thin');
      button.title = words(node);
      button.setAttribute('aria-label', words(node));
      button.tabIndex = node === zoomed ? 0 : -1;
      button.dataset.node = node;
      return button;
    }
    function draw() {
      drawn = canvas.clientWidth;
      if (!drawn) return;
      const buttons = [];
      standsFor = new Map();
      let deepest = 0;
      function place(node, depth, left, width) {
        deepest = Math.max(deepest, depth);
        const frames = node ? chain(node) : [node];
        for (const other of frames) standsFor.set(other, node);
        buttons.push(frame(node, depth, left, width, frames));
        let at = left;
        for (const child of children[frames.at(-1)]) {
          const share = whole[node] ? width * whole[child] / whole[node] : 0;
          if (share / 100 * drawn >= LEAST) place(child, depth + 1, at, share);
          at += share;
        }
      }
      const above = [];
      for (let up = parents[zoomed]; up >= 0; up = parents[up]) above.unshift(up);
      above.forEach((node, depth) => {
        standsFor.set(node, node);
        buttons.push(frame(node, depth, 0, 100, [node]));
      });
      if (whole[0]) place(zoomed, above.length, 0, 100);
      const hadFocus = canvas.contains(document.activeElement);
      canvas.replaceChildren(...buttons);
      canvas.style.height = (deepest + 1) * ROW + 'px';
      if (hadFocus) focus(zoomed);
    }
    function focus(node) {
      const button = canvas.querySelector('[data-node="' + node + '"]');
      if (!button) return;
      const before = canvas.querySelector('[tabindex="0"]');
      if (before) before.tabIndex = -1;
      button.tabIndex = 0;
      button.focus();
    }
    function zoom(node) {
      zoomed = node;
      draw();
      focus(node);
    }
    const nodeOf = event => {
      const button = event.target.closest('.f');
      return button ? Number(button.dataset.node) : -1;
    };
    canvas.addEventListener('click', event => {
      const node = nodeOf(event);
      if (node < 0) return;
      const frames = node ? chain(node) : [node];
      if (frames.length === 1) {
        zoom(node);
        return;
      }
      frames.forEach(it => opened.add(it));
      draw();
      focus(node);
    });
    for (const name of ['mouseover', 'focusin']) {
      canvas.addEventListener(name, event => {
        const node = nodeOf(event);
        if (node >= 0) tell(node);
      });
    }
    canvas.addEventListener('mouseleave', () => tell(zoomed));
    // Up and down from a frame to what it was called by and what it calls, left and
    // right among those of one.
    canvas.addEventListener('keydown', event => {
      const node = nodeOf(event);
      if (node < 0) return;
      const there = list => list.filter(it => canvas.querySelector('[data-node="' + it + '"]'));
      const last = node ? chain(node).at(-1) : node;
      const beside = node ? there(children[parents[node]]) : [node];
      const at = beside.indexOf(node);
      const next = {
        ArrowUp: standsFor.get(parents[node]), ArrowDown: there(children[last])[0],
        ArrowLeft: beside[at - 1], ArrowRight: beside[at + 1], Home: 0,
      }[event.key];
      if (event.key === 'Escape' && zoomed) zoom(0);
      else if (next >= 0) focus(next);
      else if (!event.key.startsWith('Arrow')) return;
      event.preventDefault();
    });

    new ResizeObserver(() => { if (canvas.clientWidth !== drawn) draw(); }).observe(canvas);
    // Waits begin at the lock: who waits for it is what one looks for.
    const turned = element.querySelector('.turn');
    turn(turned.getAttribute('aria-pressed') === 'true');
    turned.addEventListener('click', () => {
      const isInverted = turned.getAttribute('aria-pressed') !== 'true';
      turned.setAttribute('aria-pressed', isInverted);
      turn(isInverted);
      graph.show(...filters);
    });
    const graph = {
      get rows() { return rows; },
      show(thread, lock, search, leftOut) {
        filters = [thread, lock, search, leftOut];
        text = search;
        whole = parents.map(() => 0);
        for (const row of rows) {
          const isOther = thread && row.thread !== thread || lock && plainLock(row.lock) !== lock
            || leftOut.has(plainLock(row.lock));
          if (!isOther) whole[row.node] += row.sum;
        }
        for (let node = parents.length - 1; node > 0; node--) whole[parents[node]] += whole[node];
        children.forEach(list => list.sort((a, b) => whole[b] - whole[a] || a - b));
        if (!whole[zoomed]) zoomed = 0;
        element.classList.toggle('nothing', !whole[0]);
        draw();
        tell(zoomed);
      },
    };
    return graph;
  }
  const data = id('graph-data');
  const graphs = data ? JSON.parse(data.textContent).map((one, at) =>
    makeGraph(document.querySelector('[data-graph="' + at + '"]'), one)) : [];
