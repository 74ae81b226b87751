// Colours, from the style sheet: one meaning each. load blue, queues violet, pauses amber, losses red, gains green.

export const of = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function rgb(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

/* 0..1 to a colour: that of nothing, then --NAME-0, --NAME-1 and --NAME-2. */
export function ramp(name) {
  const stops = ["none", 0, 1, 2].map((i) => rgb(of(i === "none" ? i : `${name}-${i}`)));
  return (x) => {
    const t = Math.min(Math.max(x, 0), 1) * 3;
    const i = Math.min(Math.floor(t), 2);
    const c = stops[i].map((a, k) => Math.round(a + (stops[i + 1][k] - a) * (t - i)));
    return `rgb(${c.join(",")})`;
  };
}
