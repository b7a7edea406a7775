  // A span of time: what has times is of it alone, the sums that have none stay those of the
  // whole run. It begins and ends where boxes of the picture do.
  const added = values => values.reduce((all, value) => all + value, 0);
  function makeSpan(data, choose) {
    const picture = document.querySelector('.shares svg');
    const reading = document.querySelector('.span-reading');
    const boxes = data.lived.length;
    const shares = all('.bands .part[data-band]');
    const stops = document.querySelector('.stops');
    const before = [...shares, stops].map(part => part && part.textContent);
    const names = shares.map(part => part.parentElement.textContent.replace(part.textContent, '').trim());
    const rows = all('.worst tbody');
    const strips = all('.timeline svg[data-ns]').map(svg => ({
      svg, ns: svg.dataset.ns.split(' ').map(Number), table: svg.closest('table'),
      box_ns: Number(svg.closest('table').querySelector('[data-box]').dataset.box),
    }));
    // Phases, a row each.
    const moments = all('[data-after]').map(cell => ({ body: cell.closest('tbody'), from: Number(cell.dataset.v) }));
    const isOutside = (from, [first, last]) => from + data.phase_ns <= first * data.box_ns
      || from >= (last + 1) * data.box_ns;
    let chosen = null;
    const within = (values, range) => added(range ? values.slice(range[0], range[1] + 1) : values);
    const shareOf = (band, range) => percent(within(data.bands[band], range), within(data.lived, range));
    const spanOf = ([from, to]) => duration(from * data.box_ns) + ' to ' + duration((to + 1) * data.box_ns);
    function tell(at) {
      const range = at ? [at[0], at[0]] : chosen;
      picture.setAttribute('aria-valuenow', range ? range[0] : 0);
      if (!range) reading.textContent = 'Dragging, or Shift with the arrow keys, selects a span of time.';
      else {
        const parts = shares.map((part, nth) => names[nth] + ' ' + shareOf(part.dataset.band, range));
        const told = at ? ': ' + parts.filter(text => !text.endsWith(' 0.0 %')).join(', ') : '';
        reading.textContent = spanOf(range) + ' after the start' + told + '.';
      }
      picture.setAttribute('aria-valuetext', reading.textContent);
    }
    const attributes = {
      role: 'slider', tabindex: 0, 'aria-label': 'Span of time', 'aria-valuemin': 0, 'aria-valuemax': boxes - 1,
    };
    picture.removeAttribute('aria-hidden');
    for (const [name, value] of Object.entries(attributes)) picture.setAttribute(name, value);
    const selection = makeSelection(picture, () => [boxes, 1], tell, (from, to, isLonger) => {
      const range = from && [from[0], to[0]].sort((a, b) => a - b);
      choose(range && (range[0] > 0 || range[1] < boxes - 1) ? range : null, isLonger);
    });
    // What lies outside is fainter.
    function veil(svg, range, count) {
      svg.classList.toggle('spanned', Boolean(range));
      if (!range) return;
      svg.style.setProperty('--from', 100 * range[0] / count + '%');
      svg.style.setProperty('--to', 100 * (range[1] + 1) / count + '%');
    }
    function put(cell, ns, isSpan) {
      if (!cell.dataset.all) cell.dataset.all = cell.dataset.v + ' ' + cell.textContent;
      const [value, ...words] = cell.dataset.all.split(' ');
      cell.dataset.v = isSpan ? ns : value;
      cell.textContent = isSpan ? duration(ns) : words.join(' ');
    }
    function showWorst(range) {
      const sums = data.locks.map(ns => within(ns, range));
      rows.forEach((body, nth) => {
        const cell = body.querySelector('.bar');
        if (!cell.dataset.part) cell.dataset.part = cell.style.getPropertyValue('--part');
        put(cell, sums[nth], Boolean(range));
        const part = range ? (sums[nth] / Math.max(1, ...sums)).toFixed(3) : cell.dataset.part;
        cell.style.setProperty('--part', part);
        veil(body.querySelector('.time svg'), range, boxes);
      });
    }
    // Strips whose steps are longer show the whole ones.
    function stripRange(strip) {
      if (!chosen) return null;
      const edge = (at, round) => round((at * data.box_ns) / strip.box_ns);
      return [edge(chosen[0], Math.floor), Math.min(strip.ns.length, edge(chosen[1] + 1, Math.ceil)) - 1];
    }
    return {
      boxes,
      spanOf,
      // Rows of no time in the span.
      empty: new Set(),
      show(range) {
        chosen = range;
        selection.show(range && [[range[0], 0], [range[1], 0]]);
        all('.shares svg').forEach(svg => veil(svg, range, boxes));
        shares.forEach((part, nth) => {
          part.textContent = range ? shareOf(part.dataset.band, range) : before[nth];
        });
        if (stops) stops.textContent = range ? duration(within(data.stopped, range)) : before.at(-1);
        showWorst(range);
        const outside = moments.filter(({ from }) => range && isOutside(from, range));
        this.empty = new Set(outside.map(({ body }) => body));
        for (const strip of strips) {
          const own = stripRange(strip);
          const ns = within(strip.ns, own);
          const body = strip.svg.closest('tbody');
          if (own && !ns) this.empty.add(body);
          put(body.querySelector('td.n'), ns, Boolean(own));
          veil(strip.svg, own, strip.ns.length);
          const isLonger = Boolean(own) && strip.box_ns !== data.box_ns;
          strip.table.parentElement.classList.toggle('of-phases', isLonger);
        }
        tell(null);
      },
    };
  }
