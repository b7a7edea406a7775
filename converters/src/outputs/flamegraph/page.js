// Tyrion's part of the page, behind inferno's script: names that keep what tells most
// where there is no room for all of them, and lines that break on narrow screens.
(function () {
    "use strict";

    // In pixels: from the page's edges, beside the title where buttons are, and the
    // lines of the title, of the subtitle and of the legend.
    var MARGIN = 10, BUTTONS = 90, TITLE_LINE = 24, SUBTITLE_LINE = 18, LEGEND_LINE = 20;
    var TITLE_SIZE = 17 / 12;

    var byId = function (id) { return document.getElementById(id); };
    var number = function (element, name) { return Number(element.getAttribute(name)); };

    // A name in so many characters. A lock goes without its kind before it goes without
    // its package; then the beginning of a lock or a thread stays, and the end of a method.
    function shortened(name, room) {
        if (name.length <= room) return name;
        if (room < 3) return "";
        var kind = / \[[a-z-]+\]$/.exec(name);
        var bare = kind ? name.slice(0, kind.index) : name;
        if (bare.length <= room) return bare;
        var simple = bare.replace(/^(?:[a-z_][\w$]*\.)+(?=[A-Z])/, "");
        if (simple.length <= room) return simple;
        return kind || simple[0] === "["
            ? simple.slice(0, room - 2) + ".."
            : ".." + simple.slice(2 - room);
    }

    // Inferno's script calls this with the frames whose widths have changed.
    var place_texts = update_text_for_elements;
    update_text_for_elements = function (elements) {
        place_texts(elements);
        if (!known_font_width) return;
        var width = number(frames, "width");
        // All is read before anything is written, or else each would be laid out anew.
        var texts = Array.prototype.map.call(elements, function (frame) {
            var part = parseFloat(frame.querySelector("rect").getAttribute("width")) / 100;
            var name = frame.querySelector("title").textContent.replace(/ \([^(]*\)$/, "");
            return shortened(name, Math.floor((part * width - 3) / known_font_width));
        });
        texts.forEach(function (text, at) {
            elements[at].querySelector("text").textContent = text;
        });
    };

    // The lines of a text, of so many characters at most.
    function lines_of(text, room) {
        var lines = [], most = Math.max(1, Math.floor(room));
        text.split(" ").forEach(function (word) {
            var last = lines.length - 1;
            if (last >= 0 && lines[last].length + 1 + word.length <= most) {
                lines[last] += " " + word;
                return;
            }
            for (; word.length > most; word = word.slice(most)) lines.push(word.slice(0, most));
            lines.push(word);
        });
        return lines;
    }

    // Writes lines below each other: how far the last one is below the first.
    function write(element, lines, step) {
        element.textContent = "";
        lines.forEach(function (line, at) {
            var span = document.createElementNS("http://www.w3.org/2000/svg", "tspan");
            span.setAttribute("x", "50%");
            span.setAttribute("dy", at ? step : 0);
            span.textContent = line;
            element.appendChild(span);
        });
        return (lines.length - 1) * step;
    }

    // Places the items of the legend: how far the last line is below the first.
    function place_legend(legend, width, top, character) {
        var x = MARGIN, y = 0;
        Array.prototype.forEach.call(legend.children, function (item) {
            var long = 14 + item.textContent.length * character;
            if (x > MARGIN && x + long > width - MARGIN) {
                x = MARGIN;
                y += LEGEND_LINE;
            }
            item.setAttribute("transform", "translate(" + x + "," + (top + y) + ")");
            x += long + 14;
        });
        return y;
    }

    window.addEventListener("load", function () {
        var page = document.documentElement, back = document.querySelector("svg > rect");
        var title = byId("title"), subtitle = byId("subtitle"), legend = byId("legend");
        var whole = [title, subtitle].map(function (it) { return it ? it.textContent : ""; });
        // What stands below the subtitle, and where.
        var below = [byId("frames"), byId("details"), byId("matched")].map(function (element) {
            return { element: element, y: number(element, "y") };
        });
        var subtitle_y = subtitle ? number(subtitle, "y") : 0;
        var first = legend ? /,(\d+)/.exec(legend.firstElementChild.getAttribute("transform")) : null;
        var legend_y = first ? Number(first[1]) : number(page, "height");

        function arrange() {
            var width = page.clientWidth || window.innerWidth;
            var character = known_font_width || 7.2;
            var more = write(title,
                lines_of(whole[0], (width - 2 * BUTTONS) / (character * TITLE_SIZE)), TITLE_LINE);
            if (subtitle) {
                subtitle.setAttribute("y", subtitle_y + more);
                more += write(subtitle,
                    lines_of(whole[1], (width - 2 * MARGIN) / character), SUBTITLE_LINE);
            }
            below.forEach(function (it) { it.element.setAttribute("y", it.y + more); });
            var height = legend_y + more;
            if (legend) {
                height += place_legend(legend, width, height, character) + LEGEND_LINE + MARGIN;
            }
            page.setAttribute("height", height);
            back.setAttribute("height", height);
        }
        arrange();
        window.addEventListener("resize", arrange);
    });
})();
