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
  function kind(name) {
    if (/^\[[^\]]*\] /.test(name)) return 'lock';
    if (/^\[[a-z]+\]$/.test(name)) return 'state ' + name.slice(1, -1);
    return JDK.test(name) ? 'jdk' : 'own';
  }

  const ROW = 20;
  const LEAST = 2;
  function makeGraph(element, data) {
    const { frames, threads, locks } = data;
    const parents = [-1];
    const labels = ['all'];
    for (let at = 0; at < data.nodes.length; at += 2) {
      parents.push(data.nodes[at]);
      labels.push(frames[data.nodes[at + 1]]);
    }
    const children = parents.map(() => []);
    parents.forEach((parent, node) => { if (parent >= 0) children[parent].push(node); });
    const rows = [];
    for (let at = 0; at < data.sums.length; at += 4) {
      const [node, thread, lock, sum] = data.sums.slice(at, at + 4);
      rows.push({ node, thread: threads[thread], lock: locks[lock], sum });
    }
    const canvas = element.querySelector('.flame');
    const reading = element.querySelector('.reading');
    let whole = [];
    let zoomed = 0;
    let text = '';
    let drawn = 0;

    const words = node => labels[node] + ', ' + duration(whole[node]) + ', '
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
    function frame(node, depth, left, width) {
      const button = document.createElement('button');
      button.type = 'button';
      button.className = 'f ' + (node ? kind(labels[node]) : 'root') + (isHit(node) ? ' hit' : '');
      button.style.cssText = 'left:' + left + '%;width:' + width + '%;top:' + depth * ROW + 'px';
      if (width / 100 * drawn >= 24) button.textContent = label(labels[node]);
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
      let deepest = 0;
      function place(node, depth, left, width) {
        deepest = Math.max(deepest, depth);
        buttons.push(frame(node, depth, left, width));
        let at = left;
        for (const child of children[node]) {
          const share = whole[node] ? width * whole[child] / whole[node] : 0;
          if (share / 100 * drawn >= LEAST) place(child, depth + 1, at, share);
          at += share;
        }
      }
      const above = [];
      for (let up = parents[zoomed]; up >= 0; up = parents[up]) above.unshift(up);
      above.forEach((node, depth) => buttons.push(frame(node, depth, 0, 100)));
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
      if (node >= 0) zoom(node);
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
      const beside = node ? there(children[parents[node]]) : [node];
      const at = beside.indexOf(node);
      const next = {
        ArrowUp: parents[node], ArrowDown: there(children[node])[0],
        ArrowLeft: beside[at - 1], ArrowRight: beside[at + 1], Home: 0,
      }[event.key];
      if (event.key === 'Escape' && zoomed) zoom(0);
      else if (next >= 0) focus(next);
      else if (!event.key.startsWith('Arrow')) return;
      event.preventDefault();
    });

    new ResizeObserver(() => { if (canvas.clientWidth !== drawn) draw(); }).observe(canvas);
    return {
      rows,
      show(thread, lock, search) {
        text = search;
        whole = parents.map(() => 0);
        for (const row of rows) {
          const isOther = thread && row.thread !== thread || lock && plainLock(row.lock) !== lock;
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
  }
  const data = id('graph-data');
  const graphs = data ? JSON.parse(data.textContent).map((one, at) =>
    makeGraph(document.querySelector('[data-graph="' + at + '"]'), one)) : [];
