import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy
import pandas

frame = pandas.DataFrame({"x": numpy.arange(100), "y": numpy.random.default_rng(1).random(100)})
assert numpy.linalg.inv(numpy.eye(300) * 2)[0, 0] == 0.5
frame.plot()
plt.savefig("plot.png")
print("ok")
