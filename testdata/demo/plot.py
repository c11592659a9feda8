import matplotlib.pyplot as plt
import numpy as np

x = np.linspace(0, 4 * np.pi, 400)
fig, ax = plt.subplots(figsize=(8, 4.5))
for k in range(1, 5):
    ax.plot(x, np.exp(-x / (4 * k)) * np.sin(k * x / 2), label=f"k = {k}")
ax.set_title("Damped waves, drawn in a sandbox")
ax.set_xlabel("x")
ax.legend()
plt.show()
print("four curves,", x.size, "points each")
